//! Sessions: got once, renewed in time, and missed without harm.

use std::time::Duration;

use tests::matrix::{assert_honest, each};
use tests::scripted::{Aws, Fault, Op};
use tests::service::Kind;

use super::{KINDS, TokenFile, good, request, with_pod_identity, with_web_identity};

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_share_one_session_of_the_web_identity() {
    let (aws, token) = (Aws::start(), TokenFile::new("token-1"));
    aws.provision("acme");
    aws.only_sessions();
    aws.web_identity_tokens(&["token-1"]);
    let service = with_web_identity(Kind::Producer, &aws, &token).start().await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (http, url) = (service.http.clone(), format!("{}/producer", service.url));
        running.spawn(async move {
            for _ in 0..50 {
                assert_eq!(http.post(&url, &[("tenantID", "acme")], "{}").await.status, 200);
            }
        });
    }
    running.join_all().await;
    assert_eq!(aws.count(Op::AssumeRoleWithWebIdentity), 1);
    assert_eq!(aws.queue("consumer-acme").len(), 1_000);
    let said = service.process.lines().join("\n");
    assert!(
        said.contains("web identity token") && said.contains(token.path()),
        "the start names where credentials come from:\n{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sts_at_start_means_503_meanwhile_and_no_restart() {
    each(KINDS.to_vec(), |kind| async move {
        let (aws, token) = (Aws::start(), TokenFile::new("token-1"));
        aws.provision("acme");
        aws.only_sessions();
        aws.put_message("consumer-acme", "{}", &[("tenant_id", "acme")]);
        aws.on(Op::AssumeRoleWithWebIdentity).nth(1).fail(Fault::Late(Duration::from_secs(13)));
        let launch = with_web_identity(kind, &aws, &token).set("REQUEST_TIMEOUT", "5s").set("RECORD_READS", "on");
        let service = launch.listening().await;
        let answer = request(&service).await;
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert_honest(&answer);
        assert!(!service.is_ready().await);
        // What would have it restarted.
        assert_eq!(service.http.get(&format!("{}/livez", service.admin), &[]).await.status, 200);
        service.until_ready().await;
        assert_eq!(request(&service).await.status, good(kind));
        if kind == Kind::Consumer {
            aws.wait_until("the record", |aws| aws.row_count("consumer-acme") == 1).await;
        }
        assert_eq!(aws.count(Op::AssumeRoleWithWebIdentity), 1, "the slow answer was used");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_sts_at_start_delays_readiness_and_no_more() {
    each(Fault::each_of(Op::AssumeRoleWithWebIdentity), |fault| async move {
        let (aws, token) = (Aws::start(), TokenFile::new("token-1"));
        aws.provision("acme");
        aws.only_sessions();
        aws.on(Op::AssumeRoleWithWebIdentity).nth(1).fail(fault);
        let service = with_web_identity(Kind::Producer, &aws, &token).start().await;
        assert_eq!(service.event("acme", "{}").await.status, 200);
        let calls = aws.count(Op::AssumeRoleWithWebIdentity);
        assert!(calls <= 4, "{calls} calls to STS");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_identity_works_without_a_change() {
    let (aws, token) = (Aws::start(), TokenFile::new("pod-token"));
    aws.provision("acme");
    aws.only_sessions();
    aws.container_token("pod-token");
    let service = with_pod_identity(Kind::Producer, &aws, &token).start().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
    assert_eq!(aws.count(Op::ContainerCredentials), 1);
    assert!(aws.calls(Op::SendMessageBatch)[0].access_key.starts_with("ASIACONT"));
}

#[tokio::test(flavor = "multi_thread")]
async fn any_fault_of_the_pod_identity_agent_delays_readiness_and_no_more() {
    each(Fault::each_of(Op::ContainerCredentials), |fault| async move {
        let (aws, token) = (Aws::start(), TokenFile::new("pod-token"));
        aws.provision("acme");
        aws.only_sessions();
        aws.on(Op::ContainerCredentials).nth(1).fail(fault);
        let service = with_pod_identity(Kind::Producer, &aws, &token).start().await;
        assert_eq!(service.event("acme", "{}").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_that_cannot_be_read_is_named_and_no_other_identity_is_tried() {
    let aws = Aws::start();
    aws.provision("acme");
    let token = TokenFile::new("token-1");
    std::fs::remove_file(token.path()).expect("the file was there");
    let service = with_web_identity(Kind::Producer, &aws, &token)
        .set("AWS_EC2_METADATA_DISABLED", "false")
        .set("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws.endpoint())
        .set("AWS_CONTAINER_CREDENTIALS_FULL_URI", &aws.container_credentials_uri())
        .listening()
        .await;
    // Not the start's line, which names the source as well.
    service
        .process
        .line("which file it cannot read", |line| {
            line.contains(token.path()) && (line.contains("\"WARN\"") || line.contains("\"ERROR\""))
        })
        .await;
    let answer = service.event("acme", "{}").await;
    assert_eq!(answer.status, 503);
    assert_honest(&answer);
    assert_eq!((aws.count(Op::Metadata), aws.count(Op::ContainerCredentials), aws.count(Op::GetParameters)), (0, 0, 0));
    token.write("token-1");
    service.until_ready().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trust_policy_that_says_no_is_in_the_log_and_passes_when_it_is_mended() {
    let (aws, token) = (Aws::start(), TokenFile::new("token-1"));
    aws.provision("acme");
    let rule = aws.on(Op::AssumeRoleWithWebIdentity).fail(Fault::AccessDenied);
    let service = with_web_identity(Kind::Producer, &aws, &token).listening().await;
    service.process.line("what STS says", |line| line.contains("AccessDenied")).await;
    assert_eq!(service.event("acme", "{}").await.status, 503);
    rule.lift();
    service.until_ready().await;
}
