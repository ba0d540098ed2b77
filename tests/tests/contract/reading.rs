//! Reading records back.

use serde_json::Value;

use crate::plane::{Plane, eventually};

async fn page(plane: &Plane, tenant: &str, query: &str) -> Value {
    let answer = plane.ask("GET", tenant, &format!("/consumer/messages{query}"), &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn ids(page: &Value) -> Vec<String> {
    page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["message_id"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) async fn records_are_read_newest_first_page_by_page(plane: &Plane) {
    let mut sent = Vec::new();
    for n in 0..5 {
        let answer = plane.post("tenant-1", "/producer", &[], n.to_string()).await;
        sent.push(answer.json()["message_id"].as_str().unwrap().to_owned());
    }
    for id in &sent {
        plane.record("tenant-1", id).await;
    }
    // Other cases write for the same tenant meanwhile, so it is the order that is compared, and that all are found.
    let mut found = Vec::new();
    let mut cursor = None::<String>;
    loop {
        let query = cursor.map_or("?limit=3".to_owned(), |cursor| format!("?limit=3&cursor={cursor}"));
        let page = page(plane, "tenant-1", &query).await;
        let ids = ids(&page);
        assert!(ids.len() <= 3);
        assert!(ids.iter().all(|id| !id.starts_with("payment#")), "{ids:?}");
        found.extend(ids);
        cursor = page["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() || sent.iter().all(|id| found.contains(id)) {
            break;
        }
    }
    assert!(sent.iter().all(|id| found.contains(id)), "{sent:?} in {found:?}");
    let mut sorted = found.clone();
    sorted.sort_by(|one, other| other.cmp(one));
    assert_eq!(found, sorted);
    for query in ["?limit=0", "?limit=101", "?limit=x", "?cursor=nonsense"] {
        let answer = plane.ask("GET", "tenant-1", &format!("/consumer/messages{query}"), &[], "").await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
}

pub(crate) async fn a_cursor_opens_nobody_else_s_records(plane: &Plane) {
    for _ in 0..2 {
        let id = plane.post("tenant-3", "/producer", &[], "1").await.json()["message_id"].clone();
        plane.record("tenant-3", id.as_str().unwrap()).await;
    }
    let cursor = eventually("a second page", || async {
        page(plane, "tenant-3", "?limit=1").await["cursor"].as_str().map(str::to_owned)
    })
    .await;
    for tenant in ["tenant-1", "tenant-2"] {
        let answer = plane.ask("GET", tenant, &format!("/consumer/messages?cursor={cursor}"), &[], "").await;
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}
