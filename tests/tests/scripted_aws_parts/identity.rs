//! Sessions of a web identity and of a container, their end, and parameters.

use std::time::{Duration, SystemTime};

use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::error::ProvideErrorMetadata as _;
use http::Method;
use tests::http::Http;
use tests::scripted::{Aws, Fault, Op, QueueSpec};

use super::{bare, sdk};

/// A session of the web identity that `token` proves; the code of the error.
async fn session(aws: &Aws, token: &str) -> Result<Credentials, String> {
    let assumed = aws_sdk_sts::Client::new(&sdk(aws).await)
        .assume_role_with_web_identity()
        .role_arn("arn:aws:iam::123456789012:role/producer-role-acme")
        .role_session_name("test")
        .web_identity_token(token)
        .send()
        .await
        .map_err(|error| error.code().unwrap_or_default().to_owned())?;
    let given = assumed.credentials().unwrap();
    let expiry = SystemTime::try_from(*given.expiration()).unwrap();
    let token = Some(given.session_token().to_owned());
    Ok(Credentials::new(given.access_key_id(), given.secret_access_key(), token, Some(expiry), "test"))
}

#[tokio::test]
async fn a_session_of_a_web_identity_ends_when_it_says_and_is_refused_after() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    aws.session_length(Duration::from_secs(2));
    let session = session(&aws, "good").await.unwrap();
    aws.only_sessions();
    let ends = session.expiry().unwrap();
    assert!(ends.duration_since(SystemTime::now()).unwrap_or_default() <= Duration::from_secs(2));
    let config = bare(&aws).credentials_provider(session).load().await;
    let send =
        || aws_sdk_sqs::Client::new(&config).send_message().queue_url(aws.queue_url("q")).message_body("x").send();
    send().await.unwrap();
    assert!(aws.calls(Op::SendMessage)[0].access_key.starts_with("ASIAWEBI"));
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(send().await.unwrap_err().code(), Some("ExpiredToken"));
}

#[tokio::test]
async fn a_wrong_web_identity_token_and_a_static_key_are_refused() {
    let aws = Aws::start();
    aws.create_queue(QueueSpec::named("q"));
    aws.only_sessions();
    aws.web_identity_tokens(&["good"]);
    assert_eq!(session(&aws, "bad").await.unwrap_err(), "InvalidIdentityToken");
    let client = aws_sdk_sqs::Client::new(&sdk(&aws).await);
    let error = client.send_message().queue_url(aws.queue_url("q")).message_body("x").send().await.unwrap_err();
    assert_eq!(error.code(), Some("UnrecognizedClientException"));
}

#[tokio::test]
async fn the_container_endpoint_wants_its_token() {
    let aws = Aws::start();
    aws.container_token("pod-token");
    let (http, uri) = (Http::new(), aws.container_credentials_uri());
    let given = http.get(&uri, &[("authorization", "pod-token")]).await;
    assert_eq!(given.status, 200);
    assert_eq!(given.json()["AccessKeyId"], "ASIACONT000000000001");
    assert_eq!(http.get(&uri, &[("authorization", "other")]).await.status, 401);
    assert_eq!(aws.sessions(), 1);
}

#[tokio::test]
async fn sts_throttles_in_its_own_words() {
    let aws = Aws::start();
    aws.on(Op::AssumeRoleWithWebIdentity).nth(1).fail(Fault::Throttled);
    let client = aws_sdk_sts::Client::new(&sdk(&aws).await);
    let assume = client
        .assume_role_with_web_identity()
        .role_arn("arn:aws:iam::123456789012:role/r")
        .role_session_name("s")
        .web_identity_token("t");
    assert_eq!(assume.clone().send().await.unwrap_err().code(), Some("Throttling"));
    assert!(assume.send().await.unwrap().credentials().unwrap().session_token().starts_with("session-token-of-ASIA"));
    assert_eq!(client.get_caller_identity().send().await.unwrap().account(), Some("123456789012"));
}

#[tokio::test]
async fn parameters_are_read_one_by_one_and_together() {
    let aws = Aws::start();
    aws.set_parameter("/acme/consumer_sqs", "arn:one");
    let client = aws_sdk_ssm::Client::new(&sdk(&aws).await);
    let both = client.get_parameters().names("/acme/consumer_sqs").names("/acme/consumer_ddb").send().await.unwrap();
    assert_eq!(both.parameters()[0].value(), Some("arn:one"));
    assert_eq!(both.invalid_parameters(), ["/acme/consumer_ddb"]);
    let missing = client.get_parameter().name("/acme/consumer_ddb").send().await.unwrap_err();
    assert!(missing.into_service_error().is_parameter_not_found());
    client.get_parameter().name("/awsome/consumer_sqs").send().await.unwrap_err();
    assert_eq!(aws.take_violations()[0].code, "AccessDeniedException");
}

#[tokio::test]
async fn a_stray_request_fails_the_test() {
    let aws = Aws::start();
    // Written out rather than asked of the SDK, which keeps silent where AWS_EC2_METADATA_DISABLED is set.
    let token = format!("{}/latest/api/token", aws.endpoint());
    let asked = Http::new().send(Method::PUT, &token, &[("x-aws-ec2-metadata-token-ttl-seconds", "60")], "").await;
    assert!(asked.status.is_client_error(), "{}", asked.status);
    assert_eq!(aws.count(Op::Metadata), 1);
    assert_eq!(aws.take_violations()[0].message, "a stray request (Metadata)");
}
