//! Who is served where.

use crate::plane::Plane;

async fn status(plane: &Plane, deployment: &str, headers: &[(&str, &str)]) -> u16 {
    let service = deployment.split('/').nth(1).unwrap();
    let answer = plane.ask_at(deployment, "GET", &format!("/{service}"), headers).await;
    if !answer.status.is_success() {
        let problem = answer.json();
        assert_eq!(problem["status"], answer.status.as_u16());
        assert_eq!(problem["msg"], problem["title"]);
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    answer.status.as_u16()
}

pub(crate) async fn a_tenant_is_served_where_it_is_registered_and_nowhere_else(plane: &Plane) {
    for (deployment, tenant, expected) in [
        ("pool-1/producer", "tenant-1", 200),
        ("pool-1/producer", "tenant-2", 200),
        ("pool-1/producer", "nobody", 404),
        ("pool-1/consumer", "tenant-1", 200),
        ("pool-1/consumer", "tenant-2", 403),
        ("pool-1/payments", "tenant-2", 403),
        ("tenant-2/consumer", "tenant-2", 200),
        ("tenant-2/consumer", "tenant-1", 403),
        ("tenant-3/producer", "tenant-3", 200),
        ("tenant-3/producer", "tenant-1", 403),
        ("tenant-3/producer", "nobody", 403),
        ("tenant-3/producer", "Tenant-3", 400),
        ("tenant-3/producer", "pool-1", 400),
        ("tenant-3/producer", "../tenant-1", 400),
        ("tenant-3/producer", "tenant-1,tenant-3", 400),
        ("tenant-3/producer", "", 400),
    ] {
        let got = status(plane, deployment, &[("tenantID", tenant)]).await;
        assert_eq!(got, expected, "{tenant} at {deployment}");
    }
    let twice = [("tenantID", "tenant-3"), ("TENANTID", "tenant-3")];
    assert_eq!(status(plane, "tenant-3/producer", &twice).await, 400);
    let answer = plane.ask_at("tenant-3/producer", "POST", "/producer", &[]).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["type"].as_str().unwrap().to_owned()),
        (400, "urn:tenant-plane:problem:tenant-header".to_owned())
    );
    let answer = plane.ask_at("pool-1/producer", "GET", "/producer", &[]).await;
    assert!(answer.json()["tenant_id"].is_null());
}

pub(crate) async fn a_tier_header_is_held_against_the_registration(plane: &Plane) {
    for (deployment, tenant, tier, expected) in [
        ("pool-1/producer", "tenant-1", "basic", 200),
        ("pool-1/producer", "tenant-1", "advanced", 409),
        ("pool-1/producer", "tenant-1", "premium", 409),
        ("pool-1/producer", "tenant-2", "advanced", 200),
        ("pool-1/producer", "tenant-2", "basic", 409),
        ("pool-1/producer", "tenant-1", "gold", 400),
        ("pool-1/producer", "tenant-1", "", 400),
        ("tenant-3/producer", "tenant-3", "basic", 200),
        ("tenant-3/producer", "tenant-3", "gold", 400),
    ] {
        let got = status(plane, deployment, &[("tenantID", tenant), ("tier", tier)]).await;
        assert_eq!(got, expected, "{tenant} as {tier} at {deployment}");
    }
}
