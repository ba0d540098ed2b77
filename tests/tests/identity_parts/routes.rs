//! Every route of every service with identity on, and the situations from the field once more.

use hyper::Method;
use serde_json::json;
use tests::http::Answer;
use tests::inside::{Inside, problem};
use tests::issuer::{Issuer, Method as Signing, Signer};
use tests::scripted::{Aws, Op, Service};

/// The three services of a pool with the tenants `acme` and `globex`, which believe one issuer.
struct Pool {
    aws: Aws,
    issuer: Issuer,
    key: Signer,
    producer: Inside,
    consumer: Inside,
    payments: Inside,
}

impl Pool {
    async fn start() -> Self {
        let aws = Aws::start();
        aws.provision("pool-1");
        aws.provision("large");
        for tenant in ["acme", "globex"] {
            aws.register(tenant, "pool-1");
        }
        let key = Signer::new(Signing::Es256, "1");
        let issuer = Issuer::start(&[&key]).await;
        let auth = ["--auth-issuer", &issuer.url, "--auth-audience", "plane"];
        let producer = Inside::start("producer", producer::build, &aws, "pool-1", &auth).await;
        let consumer = Inside::start("consumer", consumer::build, &aws, "pool-1", &auth).await;
        let payments = Inside::start("payments", payments::build, &aws, "pool-1", &auth).await;
        for service in [&producer, &consumer, &payments] {
            service.becomes_ready().await;
        }
        Self { aws, issuer, key, producer, consumer, payments }
    }

    fn bearer(&self, tenant: &str) -> String {
        format!("Bearer {}", self.key.token(&self.issuer.claims(tenant)))
    }

    fn services(&self) -> [(&'static str, &Inside); 3] {
        [("producer", &self.producer), ("consumer", &self.consumer), ("payments", &self.payments)]
    }

    /// Every route that a tenant calls, with a body that it takes.
    fn routes(&self) -> Vec<(&Inside, Method, &'static str, &'static str)> {
        let payment = r#"{"amount":"12.50","currency":"EUR","reference":"order 1"}"#;
        vec![
            (&self.producer, Method::GET, "/producer", ""),
            (&self.producer, Method::POST, "/producer", "{}"),
            (&self.producer, Method::POST, "/producer/batch", "[1]"),
            (&self.consumer, Method::GET, "/consumer", ""),
            (&self.consumer, Method::GET, "/consumer/messages", ""),
            (&self.payments, Method::GET, "/payments", ""),
            (&self.payments, Method::POST, "/payments", payment),
            (&self.payments, Method::GET, "/payments/fd4c5c23-75ea-5812-b888-93e8bf1770c3", ""),
        ]
    }
}

async fn ask(service: &Inside, method: &Method, path: &str, headers: &[(&str, &str)], body: &'static str) -> Answer {
    let headers = [&[("idempotency-key", "key-1"), ("content-type", "application/json")], headers].concat();
    service.http.send(method.clone(), &service.url(path), &headers, body).await
}

#[tokio::test]
async fn no_route_answers_without_a_token_but_the_health_check_and_the_probe() {
    let pool = Pool::start().await;
    for (service, method, path, body) in pool.routes() {
        let answer = ask(service, &method, path, &[("tenantID", "acme")], body).await;
        problem(&answer, 401, "token-missing");
        let forged = "Bearer eyJhbGciOiJub25lIn0.eyJ0ZW5hbnRfaWQiOiJhY21lIn0.";
        let answer = ask(service, &method, path, &[("tenantID", "acme"), ("authorization", forged)], body).await;
        problem(&answer, 401, "token-invalid");
        let other = pool.bearer("globex");
        let answer = ask(service, &method, path, &[("tenantID", "acme"), ("authorization", &other)], body).await;
        problem(&answer, 403, "token-tenant");
    }
    for (name, service) in pool.services() {
        let who = service.get(&format!("/{name}"), &[]).await;
        assert_eq!((who.status.as_u16(), &who.json()["tenant_id"]), (200, &json!(null)));
        for open in ["readiness-probe", "openapi.json"] {
            assert_eq!(service.get(&format!("/{name}/{open}"), &[]).await.status, 200);
        }
        for path in ["/", "/nowhere", &format!("/{name}/"), &format!("/{name}/x"), &format!("//{name}")] {
            problem(&service.get(path, &[]).await, 401, "token-missing");
            problem(&service.get(path, &[("authorization", &pool.bearer("acme"))]).await, 404, "not-found");
        }
    }
    assert_eq!(pool.aws.count(Op::SendMessageBatch), 0);
}

#[tokio::test]
async fn every_route_answers_the_tenant_of_the_token() {
    let pool = Pool::start().await;
    let token = pool.bearer("acme");
    for (service, method, path, body) in pool.routes() {
        for headers in [&[("authorization", token.as_str())][..], &[("authorization", &token), ("TENANTID", "acme")]] {
            let answer = ask(service, &method, path, headers, body).await;
            let right = match (path, &method) {
                ("/payments", &Method::POST) => 202,
                // There is no such payment; the route is there.
                (path, _) if path.starts_with("/payments/") => 404,
                _ => 200,
            };
            assert_eq!(answer.status.as_u16(), right, "{method} {path}: {}", answer.text());
        }
    }
    let large = pool.bearer("large");
    let answer = pool.producer.get("/producer", &[("authorization", &large), ("tier", "premium")]).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["tenant_id"]), (200, &json!("large")));
    problem(
        &pool.producer.get("/producer", &[("authorization", &large), ("tier", "basic")]).await,
        409,
        "tier-conflict",
    );
    problem(&pool.payments.get("/payments", &[("authorization", &large)]).await, 403, "tenant-not-served");
    let nobody = pool.bearer("nobody");
    problem(&pool.producer.get("/producer", &[("authorization", &nobody)]).await, 404, "tenant-unknown");
}

#[tokio::test]
async fn a_tenant_reads_its_own_records_and_payments_and_nobody_else_s() {
    let pool = Pool::start().await;
    let (acme, globex) = (pool.bearer("acme"), pool.bearer("globex"));
    let (acme, globex) = ([("authorization", acme.as_str())], [("authorization", globex.as_str())]);
    let body = r#"{"amount":"12.50","currency":"EUR","reference":"order 1"}"#;
    let paid = ask(&pool.payments, &Method::POST, "/payments", &acme, body).await;
    assert_eq!(paid.status, 202, "{}", paid.text());
    let payment = format!("/payments/{}", paid.json()["payment_id"].as_str().unwrap());
    let seen = pool.payments.get(&payment, &acme).await;
    assert_eq!((seen.status.as_u16(), &seen.json()["tenant_id"]), (200, &json!("acme")));
    problem(&pool.payments.get(&payment, &globex).await, 404, "not-found");
    pool.aws.wait_until("the payment's record", |aws| aws.row_count("consumer-pool-1") == 2).await;
    let count = |answer: &Answer| answer.json()["messages"].as_array().map(Vec::len);
    let of_acme = pool.consumer.get("/consumer/messages", &acme).await;
    assert_eq!((of_acme.status.as_u16(), count(&of_acme)), (200, Some(1)), "{}", of_acme.text());
    assert_eq!(count(&pool.consumer.get("/consumer/messages", &globex).await), Some(0));
}

#[tokio::test]
async fn bad_headers_are_400_on_every_route_whoever_calls() {
    let pool = Pool::start().await;
    let token = pool.bearer("acme");
    for (service, method, path, body) in pool.routes() {
        for bad in [
            &[("tenantID", "")][..],
            &[("tenantID", "Acme")],
            &[("tenantID", "tést")],
            &[("tenantID", "acme,globex")],
            &[("tenantID", "../acme")],
            &[("tenantID", "*")],
            &[("tenantID", "acme"), ("tenantID", "acme")],
            &[("tenantID", "acme"), ("TENANTID", "globex")],
            &[("tier", "")],
            &[("tier", "gold")],
            &[("tier", "basic"), ("tier", "basic")],
        ] {
            let signed = [&[("authorization", token.as_str())], bad].concat();
            for headers in [&signed[..], bad] {
                let answer = ask(service, &method, path, headers, body).await;
                assert_eq!(answer.status, 400, "{method} {path} {headers:?}: {}", answer.text());
            }
        }
    }
    assert_eq!(pool.producer.get("/producer", &[]).await.status, 200);
}

#[tokio::test]
async fn ids_of_ones_own_making_look_nothing_up() {
    let pool = Pool::start().await;
    let token = pool.bearer("acme");
    assert_eq!(pool.producer.get("/producer", &[("authorization", &token)]).await.status, 200);
    let before = pool.aws.count_service(Service::Ssm);
    for number in 0..300 {
        let tenant = format!("made-up-{number}");
        let answer = pool.producer.get("/producer", &[("authorization", &token), ("tenantID", &tenant)]).await;
        problem(&answer, 403, "token-tenant");
        problem(&pool.producer.get("/producer", &[("tenantID", &tenant)]).await, 401, "token-missing");
    }
    assert_eq!(pool.aws.count_service(Service::Ssm), before);
}
