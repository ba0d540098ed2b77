//! What a first version of a producer would be: the AWS SDK behind axum, one `SendMessage` a request, no tenants looked up, no
//! limits, nothing checked. The least that a request through HTTP and the SDK can cost without batches.
//!
//! `bench-bare serve PORT QUEUE_URL`

use std::error::Error;
use std::process::ExitCode;

use aws_config::BehaviorVersion;
use aws_sdk_sqs::types::MessageAttributeValue;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};

#[derive(Clone)]
struct App {
    sqs: aws_sdk_sqs::Client,
    queue_url: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ["serve", port, queue_url] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        return ExitCode::from(2);
    };
    match serve(port, queue_url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn serve(port: &str, queue_url: &str) -> Result<(), Box<dyn Error>> {
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let config = aws_config::defaults(BehaviorVersion::latest()).http_client(http).load().await;
    let app = App { sqs: aws_sdk_sqs::Client::new(&config), queue_url: queue_url.to_owned() };
    let routes = Router::new()
        .route("/producer", post(send))
        .route("/producer/readiness-probe", get(|| async { "{}" }))
        .with_state(app);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    Ok(axum::serve(listener, routes).await?)
}

async fn send(State(app): State<App>, headers: HeaderMap, body: String) -> Result<String, StatusCode> {
    let text = |value: &str| MessageAttributeValue::builder().data_type("String").string_value(value).build();
    let tenant = headers.get("tenantid").and_then(|value| value.to_str().ok()).ok_or(StatusCode::BAD_REQUEST)?;
    let mut call = app.sqs.send_message().queue_url(&app.queue_url).message_body(body);
    for (name, value) in [("tenant_id", tenant), ("producer_environment", "silo"), ("content_type", "application/json")]
    {
        call = call.message_attributes(name, text(value).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?);
    }
    let sent = call.send().await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    Ok(format!("{{\"message_id\":\"{}\"}}", sent.message_id.unwrap_or_default()))
}
