//! One request: logged, checked against AWS's limits, met by the script, answered.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Method, Request, Response};

use super::answer::{Answer, Manner, response};
use super::fault::Fault;
use super::log::{Call, Outcome, Violation};
use super::op::Op;
use super::script::Asked;
use super::shared::{Connection, Shared, lock};
use super::wire::{Refusal, Reply};
use super::{dynamodb, identity, sqs, ssm};

/// A request, read.
enum Read<'a> {
    Sqs(sqs::Request<'a>),
    DynamoDb(dynamodb::Request<'a>),
    Ssm(ssm::Request),
    Sts(identity::Form),
    Container,
    /// None of AWS's services, or nothing that this one knows.
    Stray,
}

impl<'a> Read<'a> {
    fn of(op: Op, body: &'a [u8]) -> Result<Self, Refusal> {
        use super::op::Service;
        Ok(match op.service() {
            Service::Sqs => Self::Sqs(sqs::Request::read(op, body)?),
            Service::DynamoDb => {
                let request = dynamodb::Request::read(op, body)?;
                dynamodb::check(&request, body)?;
                Self::DynamoDb(request)
            }
            Service::Ssm => Self::Ssm(ssm::Request::read(op, body)?),
            Service::Sts => Self::Sts(identity::form(body)),
            Service::Container => Self::Container,
            Service::Metadata | Service::Unknown => Self::Stray,
        })
    }

    fn target(&self) -> &str {
        match self {
            Self::Sqs(request) => request.queue_name(),
            Self::DynamoDb(request) => request.table_name(),
            Self::Ssm(request) => request.first(),
            Self::Sts(form) => form.get("RoleArn").map_or("", String::as_str),
            Self::Container | Self::Stray => "",
        }
    }
}

/// A logged call, which ends as abandoned unless something else is said.
struct Logged<'a> {
    shared: &'a Shared,
    place: Option<usize>,
    ended: bool,
}

impl Logged<'_> {
    fn end(&mut self, outcome: Outcome) {
        self.ended = true;
        lock(&self.shared.log).end(self.place, outcome);
        self.shared.changed();
    }
}

impl Drop for Logged<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Outcome::Abandoned);
        }
    }
}

/// Answers one request, or lets the connection hang or end as the script says.
pub(crate) async fn handle(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<Answer>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = collected(body).await else { return std::future::pending().await };
    let op = op_of(&parts, &body);
    let number = shared.count_up(op);
    let read = Read::of(op, &body);
    let target = read.as_ref().map_or("", Read::target);
    let mut logged = log(&shared, op, number, target, &parts, &body);
    for refusal in wrong(op, &read) {
        let violation =
            Violation { op, number, code: refusal.short_code().to_owned(), message: refusal.message.clone() };
        lock(&shared.log).violate(violation);
    }
    let fault = lock(&shared.script).fault(&Asked { op, target, body: &body, access_key: access_key(&parts) });
    shared.changed();
    if connection.silent.load(Ordering::SeqCst) {
        return std::future::pending().await;
    }
    let latency = shared.latency(op.service());
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    let fault = fault.as_ref();
    match fault {
        Some(Fault::Stall) => return std::future::pending().await,
        Some(Fault::CutBefore(cut)) => {
            logged.end(Outcome::Cut);
            connection.end(*cut);
            return std::future::pending().await;
        }
        Some(Fault::Late(delay)) => tokio::time::sleep(*delay).await,
        _ => {}
    }
    let reply = match fault {
        Some(Fault::Reply(status, body)) => Reply::raw(*status, "application/x-amz-json-1.0", body.clone()),
        Some(Fault::Page(status)) => {
            Reply::raw(*status, "text/html", format!("<html><body>{status}, says something in between</body></html>"))
        }
        Some(Fault::Redirect) => {
            Reply { location: Some(format!("{}/elsewhere", shared.endpoint)), ..Reply::raw(307, "text/html", "") }
        }
        _ => match fault.and_then(|fault| fault.refusal(op)) {
            Some(refusal) => refusal.reply(op.service()),
            None => work(&shared, op, number, read, &parts, fault).await,
        },
    };
    shared.changed();
    let mut manner = Manner::AtOnce;
    let reply = match fault {
        Some(Fault::StallAfterWork) => return std::future::pending().await,
        Some(Fault::CutAfter(cut)) => {
            logged.end(Outcome::Cut);
            connection.end(*cut);
            return std::future::pending().await;
        }
        Some(Fault::SlowAnswer(delay)) => {
            tokio::time::sleep(*delay).await;
            reply
        }
        Some(Fault::HalfAnswer) => {
            manner = Manner::Half(None);
            reply
        }
        Some(Fault::CutMidway(cut)) => {
            manner = Manner::Half(Some((Arc::clone(&connection), *cut)));
            reply
        }
        Some(Fault::Trickle(pause)) => {
            manner = Manner::Trickle(*pause, None);
            reply
        }
        Some(Fault::Truncated) => Reply { body: reply.body.slice(..reply.body.len() / 2), ..reply },
        Some(Fault::ReplyAfterWork(status, body)) => Reply::raw(*status, "application/x-amz-json-1.0", body.clone()),
        _ => reply,
    };
    if connection.silent.load(Ordering::SeqCst) {
        return std::future::pending().await;
    }
    logged.end(Outcome::Answered(reply.status));
    Ok(response(reply, manner))
}

/// Does what the request asks for; refusals are answers, too.
async fn work(
    shared: &Arc<Shared>,
    op: Op,
    number: u64,
    read: Result<Read<'_>, Refusal>,
    parts: &Parts,
    fault: Option<&Fault>,
) -> Reply {
    let access_key = access_key(parts);
    let unwelcome = lock(&shared.identity).refuse(op.service(), access_key);
    let checked = read.is_ok();
    let answer = match (unwelcome, read) {
        (Some(refusal), _) | (None, Err(refusal)) => Err(refusal),
        (None, Ok(Read::Sqs(sqs::Request::Receive(receive)))) => sqs::receive(shared, &receive, fault).await,
        (None, Ok(Read::Sqs(request))) => sqs::execute(shared, op, number, &request, fault),
        (None, Ok(Read::DynamoDb(request))) => dynamodb::execute(shared, op, &request, fault),
        (None, Ok(Read::Ssm(request))) => ssm::execute(shared, op, &request, fault),
        (None, Ok(Read::Sts(form))) if op == Op::AssumeRoleWithWebIdentity => identity::assume_role(shared, &form),
        (None, Ok(Read::Sts(_))) => Ok(identity::caller(shared)),
        (None, Ok(Read::Container)) => identity::container(shared, header(parts, "authorization")),
        (None, Ok(Read::Stray)) => {
            Err(Refusal::new(404, "UnknownOperationException", "There is no such operation here."))
        }
    };
    answer.unwrap_or_else(|refusal| {
        if refusal.violation && checked {
            let (code, message) = (refusal.short_code().to_owned(), refusal.message.clone());
            lock(&shared.log).violate(Violation { op, number, code, message });
        }
        refusal.reply(op.service())
    })
}

/// What is wrong with a request as it stands.
fn wrong(op: Op, read: &Result<Read<'_>, Refusal>) -> Vec<Refusal> {
    match read {
        Err(refusal) => vec![refusal.clone()],
        Ok(Read::Sqs(request)) => request.problems(),
        Ok(Read::Stray) => {
            vec![Refusal::violation("UnknownOperationException", format!("a stray request ({})", op.name()))]
        }
        Ok(_) => Vec::new(),
    }
}

fn log<'a>(shared: &'a Shared, op: Op, number: u64, target: &str, parts: &Parts, body: &Bytes) -> Logged<'a> {
    let mut log = lock(&shared.log);
    if !log.keep {
        return Logged { shared, place: None, ended: false };
    }
    let stray = matches!(op, Op::Unknown | Op::Metadata);
    let place = log.add(Call {
        op,
        number,
        arrived: Instant::now(),
        arrived_at: SystemTime::now(),
        target: target.into(),
        access_key: access_key(parts).into(),
        path: if stray { format!("{} {}", parts.method, parts.uri).into() } else { Arc::default() },
        body: body.clone(),
        outcome: Outcome::Open,
        ended: None,
    });
    Logged { shared, place, ended: false }
}

fn header<'p>(parts: &'p Parts, name: &str) -> &'p str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The access key of a signature; empty if there is none.
fn access_key(parts: &Parts) -> &str {
    let credential = header(parts, "authorization").split("Credential=").nth(1);
    credential.and_then(|scope| scope.split('/').next()).unwrap_or_default()
}

fn op_of(parts: &Parts, body: &[u8]) -> Op {
    let target = header(parts, "x-amz-target");
    if !target.is_empty() {
        return Op::of_target(target).unwrap_or(Op::Unknown);
    }
    let path = parts.uri.path();
    if parts.method == Method::GET && path == "/v1/credentials" {
        return Op::ContainerCredentials;
    }
    if path.starts_with("/latest/") {
        return Op::Metadata;
    }
    // Only STS has actions in a form.
    let action =
        form_urlencoded::parse(body).find(|(name, _)| name == "Action").map_or(Cow::Borrowed(""), |(_, action)| action);
    Op::of_target(&action).filter(|op| op.service() == super::op::Service::Sts).unwrap_or(Op::Unknown)
}

/// The whole body; one that came in one piece is not copied.
async fn collected(mut body: Incoming) -> Result<Bytes, hyper::Error> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
