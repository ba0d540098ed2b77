//! Payments: once each.

use serde_json::{Value, json};
use tests::http::Answer;

use crate::plane::{Plane, eventually};

fn payment(amount: &str, currency: &str) -> String {
    json!({"amount": amount, "currency": currency, "reference": "order 1"}).to_string()
}

async fn pay(plane: &Plane, tenant: &str, key: &str, body: String) -> Answer {
    plane.post(tenant, "/payments", &[("Idempotency-Key", key)], body).await
}

pub(crate) async fn a_payment_is_requested_then_recorded_and_its_key_stands_for_it(plane: &Plane) {
    for tenant in ["tenant-1", "tenant-2", "tenant-3"] {
        let first = pay(plane, tenant, "pay-1", payment("12.50", "EUR")).await;
        assert_eq!(first.status, 202, "{}", first.text());
        let id = first.json()["payment_id"].as_str().unwrap().to_owned();
        let path = format!("/payments/{id}");
        let state = || async {
            let answer = plane.ask("GET", tenant, &path, &[], "").await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let payment = answer.json();
            assert_eq!((&payment["amount"], &payment["currency"]), (&json!("12.50"), &json!("EUR")));
            let states = [json!("requested"), json!("recorded")];
            let state = payment.as_object().unwrap().values().find(|value| states.contains(value)).cloned();
            state.filter(|state| *state == "recorded")
        };
        eventually("the payment's record", state).await;
        let again = pay(plane, tenant, "pay-1", payment("12.50", "EUR")).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
        for other in [payment("12.51", "EUR"), payment("12.50", "USD")] {
            assert_eq!(pay(plane, tenant, "pay-1", other).await.status, 422);
        }
        let (one, two) = tokio::join!(
            pay(plane, tenant, "pay-2", payment("1.00", "EUR")),
            pay(plane, tenant, "pay-2", payment("1.00", "EUR"))
        );
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (202, 202));
        assert_eq!(one.json()["payment_id"], two.json()["payment_id"]);
    }
    // The same key is another tenant's own, and so is the payment.
    let id = pay(plane, "tenant-1", "pay-1", payment("12.50", "EUR")).await.json()["payment_id"].clone();
    let path = format!("/payments/{}", id.as_str().unwrap());
    assert_eq!(plane.ask("GET", "tenant-3", &path, &[], "").await.status, 404);
}

pub(crate) async fn a_payment_that_is_not_one_is_refused_with_the_reason(plane: &Plane) {
    let body = payment("12.50", "EUR");
    assert_eq!(plane.post("tenant-3", "/payments", &[], body).await.status, 400);
    for (amount, currency) in [
        (json!("12.505"), "EUR"),
        (json!("1.5"), "JPY"),
        (json!("-1"), "EUR"),
        (json!("0"), "EUR"),
        (json!(12.5), "EUR"),
        (json!("12,50"), "EUR"),
        (json!("1e3"), "EUR"),
        (json!("12.50"), "XXZ"),
        (json!("12.50"), "eur"),
    ] {
        let body: Value = json!({"amount": amount, "currency": currency, "reference": "order 1"});
        let answer = pay(plane, "tenant-3", "pay-bad", body.to_string()).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        assert_eq!(answer.json()["type"], "urn:tenant-plane:problem:unprocessable");
    }
}
