//! What AWS answers is not for the log: neither in a line of ours nor in one of the SDK's.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::{StaticConfiguration, WebIdentityTokenCredentialsProvider};
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_async::rt::sleep::TokioSleep;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;

use super::*;
use crate::testing::{Answer, Scripted};

/// Answers every call with 200 and this text.
#[derive(Debug, Clone)]
struct Says(String);

impl HttpClient for Says {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Says {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let ok = 200_u16.try_into().expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(ok, SdkBody::from(self.0.clone()))))
    }
}

/// What is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// From now on, under these directives of `RUST_LOG`.
    fn listen(directives: &str) -> (Self, tracing::subscriber::DefaultGuard) {
        // While there is only one subscriber, a line that is first met on a thread without one counts as heard by nobody, for
        // all threads: tests beside this one would take its lines away. With a second one all subscribers are asked.
        static SECOND: OnceLock<tracing::Dispatch> = OnceLock::new();
        SECOND.get_or_init(|| tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new()));
        let log = Self::default();
        let writer = log.clone();
        let lines = tracing_subscriber::fmt().json().with_env_filter(crate::telemetry::filter(directives).unwrap());
        let guard = tracing::subscriber::set_default(lines.with_writer(move || writer.clone()).finish());
        (log, guard)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What STS answers, ending as it says.
fn session(expiration: &str) -> String {
    format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>\
         <Credentials><AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>the-secret-key</SecretAccessKey>\
         <SessionToken>the-session-token</SessionToken><Expiration>{expiration}</Expiration></Credentials>\
         </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    )
}

async fn log_of_a_renewal(answer: String, directives: &str) -> String {
    let token_file = std::env::temp_dir().join(format!("token-{}-{}", std::process::id(), fastrand::u64(..)));
    std::fs::write(&token_file, "the-identity-token").unwrap();
    let (log, _guard) = Log::listen(directives);
    let config = ProviderConfig::empty()
        .with_sleep_impl(TokioSleep::new())
        .with_region(Some(Region::new("eu-central-1")))
        .with_http_client(Says(answer));
    let provider = WebIdentityTokenCredentialsProvider::builder()
        .static_configuration(StaticConfiguration {
            web_identity_token_file: token_file.clone(),
            role_arn: "arn:aws:iam::123456789012:role/r".to_owned(),
            session_name: "s".to_owned(),
        })
        .configure(&config)
        .build();
    let refreshing = Refreshing::new("web identity", SharedCredentialsProvider::new(provider));
    let error = refreshing.provide_credentials().await.unwrap_err();
    tracing::warn!(error = causes(&error), "and who asked says so as well");
    std::fs::remove_file(&token_file).unwrap();
    log.text()
}

#[tokio::test]
async fn a_malformed_answer_of_sts_leaves_no_key_and_no_token_in_the_log() {
    let whole = session("soon");
    for answer in
        [whole.clone(), whole[..whole.len() - 60].to_owned(), whole.replace("<Expiration>soon</Expiration>", "")]
    {
        for directives in ["info", "warn", "", "info,tenancy=debug"] {
            let log = log_of_a_renewal(answer.clone(), directives).await;
            assert!(log.contains("credentials could not be had"), "{log}");
            for secret in ["the-secret-key", "the-session-token", "the-identity-token"] {
                assert!(!log.contains(secret), "{directives:?}: {log}");
            }
            for line in log.lines() {
                assert!(line.len() < 1_000, "{} bytes: {line}", line.len());
            }
        }
    }
}

#[tokio::test]
async fn an_answer_of_the_table_that_is_cut_off_or_malformed_leaves_no_body_in_what_is_said_of_it() {
    let cut_off = r#"{"Items":[{"tenant_id":{"S":"acme"},"body":{"S":"{\"card\":\"4111\"}"#;
    let malformed = r#"{"Items":[{"body":{"S":"4111"},"n":{"S":5}}],"Item":{"body":{"S":"4111"},"n":{"S":5}}}"#;
    for answer in [cut_off, malformed, "4111 is no JSON"] {
        let config = Scripted::new(|_, _| Answer::new(200, serde_json::Value::Null)).config();
        let config = config.into_builder().http_client(Says(answer.to_owned())).build();
        let client = aws_sdk_dynamodb::Client::new(&config);
        let query = describe(&client.query().table_name("t").send().await.unwrap_err());
        let get = client.get_item().table_name("t");
        let get = match get.send().await {
            Ok(item) => panic!("{item:?}"),
            Err(error) => describe(&error),
        };
        for said in [query, get] {
            assert_eq!(said, "HTTP 200, an answer that is cut off or malformed");
        }
    }
}

#[test]
fn the_sdk_is_heard_where_rust_log_names_it() {
    let said = |directives: &str| {
        let (log, _guard) = Log::listen(directives);
        tracing::warn!(target: "aws_config::web_identity_token", "of the SDK");
        tracing::warn!(target: "tenancy::aws", "of ours");
        let text = log.text();
        (text.contains("of the SDK"), text.contains("of ours"))
    };
    assert_eq!(said("info"), (false, true));
    assert_eq!(said("debug"), (false, true));
    assert_eq!(said("info,aws_config=warn"), (true, true));
}
