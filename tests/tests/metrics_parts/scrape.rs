//! Services with real traffic, scraped: what they show and what the tables say is the same set.

use std::collections::{BTreeMap, BTreeSet};

use tenancy::telemetry::metric::Metric;
use tests::service::{Kind, Launch, Service};

use super::{DEAD, QUEUE, TABLE, acme, tables};

/// One family of a scrape.
#[derive(Default)]
struct Family {
    help: String,
    kind: String,
    /// Label sets of its samples, without what a histogram adds.
    samples: Vec<BTreeMap<String, String>>,
}

/// A scrape by family.
fn families(scrape: &str) -> BTreeMap<String, Family> {
    let mut all: BTreeMap<String, Family> = BTreeMap::new();
    for line in scrape.lines().filter(|line| !line.is_empty()) {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            all.entry(name.to_owned()).or_default().help = help.to_owned();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            all.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let (name, labels) =
                series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.trim_end_matches('}')));
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| {
                name.strip_suffix(suffix).filter(|base| all.get(*base).is_some_and(|family| family.kind == "histogram"))
            });
            let labels = labels.split("\",").filter(|label| !label.is_empty()).map(|label| {
                let (name, value) = label.split_once("=\"").unwrap();
                (name.to_owned(), value.trim_end_matches('"').to_owned())
            });
            let labels = labels.filter(|(name, _)| name != "le").collect();
            all.entry(family.unwrap_or(name).to_owned()).or_default().samples.push(labels);
        }
    }
    all
}

/// Holds a scrape against the tables of its service.
fn compare(kind: Kind, scrape: &str) {
    let known: BTreeMap<&str, &Metric> =
        tables(kind).into_iter().flatten().map(|metric| (metric.name, metric)).collect();
    let shown = families(scrape);
    let names = |all: BTreeSet<&str>| all.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let (tabled, seen) = (known.keys().copied().collect::<BTreeSet<_>>(), shown.keys().map(String::as_str).collect());
    assert_eq!(names(&tabled - &seen), Vec::<String>::new(), "{}: in docs/metrics.md, not shown", kind.name());
    assert_eq!(names(&seen - &tabled), Vec::<String>::new(), "{}: shown, not in docs/metrics.md", kind.name());
    for (name, family) in &shown {
        let metric = known[name.as_str()];
        assert_eq!(family.kind, metric.kind.as_str(), "{name}");
        assert_eq!(family.help, metric.meaning, "{name}");
        assert!(!family.samples.is_empty(), "{name} has no sample");
        for sample in &family.samples {
            let (names, tabled): (Vec<_>, Vec<_>) =
                (sample.keys().map(String::as_str).collect(), metric.labels.iter().map(|label| label.name).collect());
            let sorted: BTreeSet<_> = tabled.iter().copied().collect();
            assert_eq!(names, sorted.into_iter().collect::<Vec<_>>(), "{name}");
            for label in metric.labels.iter().filter(|label| !label.values.is_empty()) {
                assert!(
                    label.values.contains(&sample[label.name].as_str()),
                    "{name}: {} is {:?}",
                    label.name,
                    sample[label.name]
                );
            }
        }
    }
}

/// Scrapes and compares; with SCRAPES set, leaves the scrape in that folder.
async fn scraped(service: &Service) {
    let scrape = service.metrics().await;
    if let Some(folder) = std::env::var_os("SCRAPES") {
        let path = std::path::Path::new(&folder).join(format!("{}.txt", service.kind.name()));
        std::fs::write(path, &scrape).unwrap();
    }
    compare(service.kind, &scrape);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_services_show_under_traffic_is_what_the_document_says() {
    let aws = acme();
    // With limits, since what is counted of them is not there without.
    let start = async |kind| Launch::new(kind, &aws, "acme").set("LIMIT_REQUESTS", "1000").start().await;
    let (producer, payments) = (start(Kind::Producer).await, start(Kind::Payments).await);
    let consumer = start(Kind::Consumer).await;
    for event in 0..3 {
        assert_eq!(producer.event("acme", &format!("{{\"n\":{event}}}")).await.status, 200);
    }
    assert_eq!(producer.event("other", "{}").await.status, 403);
    assert_eq!(payments.payment("acme", "key-1").await.status, 202);
    assert_eq!(payments.payment("acme", "key-1").await.status, 202);
    aws.put_message(QUEUE, "nobody's", &[("message_id", "bad")]);
    let tenant = [("tenantID", "acme")];
    assert_eq!(consumer.http.get(&format!("{}/consumer", consumer.url), &tenant).await.status, 200);
    aws.wait_until("four records, a claim and an isolated message", |aws| {
        aws.row_count(TABLE) == 5 && aws.queue(QUEUE).len() == 1 && aws.queue(DEAD).is_empty()
    })
    .await;
    for service in [&producer, &payments, &consumer] {
        scraped(service).await;
    }
}
