//! Sessions of seconds under heavy load: nothing fails and nothing is lost while STS dawdles and refuses, and each session is asked
//! for once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tests::http::{Answer, Http};
use tests::matrix::{assert_honest, each};
use tests::scripted::{Asked, Aws, Call, Fault, Op, Outcome, Service as AwsService};
use tests::service::{Kind, Launch};
use tokio_util::sync::CancellationToken;

use super::{TokenFile, with_web_identity};

/// How long sessions last. What a service is told of is a whole second, so up to one less; a fifth of that before the end they are
/// renewed, so after 6.4 s at the latest, and a tenth before the end they are not used any more.
const SESSION: Duration = Duration::from_secs(8);

/// How long STS dawdles: less than is left of the session then.
const DAWDLES: Duration = Duration::from_millis(500);

const CLIENTS: usize = 16;

fn role(kind: Kind) -> String {
    format!("arn:aws:iam::123456789012:role/{}-role-acme", kind.name())
}

fn with_role(kind: Kind, aws: &Aws, token: &TokenFile) -> Launch {
    let launch = with_web_identity(kind, aws, token).set("AWS_ROLE_ARN", &role(kind));
    if kind == Kind::Consumer { launch.set("SHUTDOWN_TIMEOUT", "5s") } else { launch }
}

/// Each event has to be taken at the first try. Bodies by id.
async fn client(number: usize, url: String, stop: CancellationToken) -> BTreeMap<String, String> {
    let (http, mut taken) = (Http::new(), BTreeMap::new());
    while !stop.is_cancelled() {
        let body = format!("{{\"client\":{number},\"n\":{}}}", taken.len());
        let answer = http.post(&url, &[("tenantID", "acme")], body.clone()).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        taken.insert(answer.json()["message_id"].as_str().expect("an id").to_owned(), body);
    }
    taken
}

/// The calls to STS of one service, in order.
fn calls_of(aws: &Aws, kind: Kind) -> Vec<Call> {
    let calls = aws.calls(Op::AssumeRoleWithWebIdentity);
    calls.into_iter().filter(|call| *call.target == *role(kind)).collect()
}

/// One call at a time, and after one that was good none before the session nears its end, and one before it is over.
#[track_caller]
fn assert_one_call_a_session(calls: &[Call]) {
    let (mut good, mut late) = (0, 0);
    for pair in calls.windows(2) {
        let ended = pair[0].ended.expect("the next one began after it");
        assert!(pair[1].arrived >= ended, "two calls at once");
        if pair[0].outcome == Outcome::Answered(200) {
            let apart = pair[1].arrived - ended;
            assert!(apart > SESSION / 2, "asked again {apart:?} after a session began");
            good += 1;
            late += usize::from(apart >= SESSION - Duration::from_secs(1));
        }
    }
    // A machine that stands still misses one now and then; who asks when a session is over misses each.
    assert!(late * 2 <= good, "{late} of {good} sessions were over when the next was asked for");
}

/// While a session was slow to come, calls went on under the one before. A machine that stands still then makes none, but not
/// each time.
#[track_caller]
fn assert_nobody_waited(aws: &Aws, sessions: &[Call], ops: &[Op]) {
    let took = |call: &Call| call.ended.filter(|came| *came - call.arrived >= DAWDLES);
    let slow: Vec<_> = sessions.iter().filter_map(|call| Some(call.arrived + DAWDLES / 2..took(call)?)).collect();
    assert!(slow.len() >= 2, "{sessions:#?}");
    let mut calls = ops.iter().flat_map(|op| aws.calls(*op));
    let went_on = calls.any(|call| slow.iter().any(|late| late.contains(&call.arrived)));
    assert!(went_on, "no call of {ops:?} while a session was slow to come");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_end_under_heavy_load_while_sts_dawdles_and_fails_and_no_request_and_no_message_notices() {
    let (aws, token) = (Aws::start(), TokenFile::new("token-0"));
    aws.provision("acme");
    aws.only_sessions();
    aws.session_length(SESSION);
    aws.web_identity_tokens(&["token-0"]);
    // What befalls the renewals of each service: slow ones, failing ones, and one that is never answered.
    for kind in [Kind::Producer, Kind::Consumer] {
        let role = role(kind);
        let nth = |number| {
            let role = role.clone();
            let of_role = move |asked: &Asked<'_>| asked.target == role;
            aws.on(Op::AssumeRoleWithWebIdentity).when(of_role).nth(number)
        };
        for slow in [2, 4, 6] {
            nth(slow).fail(Fault::Late(DAWDLES));
        }
        nth(3).fail(Fault::Throttled);
        nth(5).fail(Fault::Page(503));
        nth(7).fail(Fault::CutAfter(tests::scripted::Cut::Reset));
    }
    let producer = with_role(Kind::Producer, &aws, &token).start().await;
    let consumer = with_role(Kind::Consumer, &aws, &token).start().await;
    let (stop, mut clients) = (CancellationToken::new(), tokio::task::JoinSet::new());
    for number in 0..CLIENTS {
        clients.spawn(client(number, format!("{}/producer", producer.url), stop.clone()));
    }
    let start = Instant::now();
    let mut day = 0;
    // Until each has had five sessions, with a new token each second; STS takes no older one than the last two.
    let enough = |aws: &Aws| {
        [Kind::Producer, Kind::Consumer]
            .iter()
            .all(|kind| calls_of(aws, *kind).iter().filter(|call| call.outcome == Outcome::Answered(200)).count() >= 5)
    };
    while !enough(&aws) {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", aws.story());
        day += 1;
        let (before, now) = (format!("token-{}", day - 1), format!("token-{day}"));
        aws.web_identity_tokens(&[&before, &now]);
        token.write(&now);
        aws.holds_within(Duration::from_secs(1), |_| false).await;
    }
    stop.cancel();
    let taken: BTreeMap<String, String> = clients.join_all().await.into_iter().flatten().collect();
    aws.wait_until("every event as a record", |aws| aws.queue("consumer-acme").is_empty()).await;
    let stored: BTreeMap<String, String> =
        aws.rows("consumer-acme").into_iter().map(|row| (row.sort.clone(), row.get("body").to_owned())).collect();
    assert_eq!(stored, taken);
    assert!(taken.len() > 1_000, "too little load to prove anything: {}", taken.len());
    assert!(aws.queue("consumer-acme-dlq").is_empty());
    let calls_that_go_on =
        [(&producer, &[Op::SendMessageBatch][..]), (&consumer, &[Op::ReceiveMessage, Op::BatchWriteItem])];
    for (service, ops) in calls_that_go_on {
        let calls = calls_of(&aws, service.kind);
        assert_one_call_a_session(&calls);
        assert_nobody_waited(&aws, &calls, ops);
    }
}

/// What AWS says of a session that is over before its time: that it has expired, or that it knows no such one, in each service's
/// words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Expired,
    Unknown,
}

impl Word {
    fn of(self, service: AwsService) -> Fault {
        match (self, service) {
            (Self::Expired, _) => Fault::ExpiredToken,
            (Self::Unknown, AwsService::Sqs) => Fault::Error(403, "InvalidClientTokenId", "scripted"),
            (Self::Unknown, _) => Fault::Error(400, "UnrecognizedClientException", "scripted"),
        }
    }
}

/// Waits for as long as an answer says.
async fn come_back(aws: &Aws, answer: &Answer) {
    let later: u64 = answer.header("retry-after").parse().expect("when to come back");
    aws.holds_within(Duration::from_secs(later), |_| false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_aws_ends_before_its_time_is_replaced_and_requests_wait_for_the_next() {
    let cases =
        [Kind::Producer, Kind::Consumer].into_iter().flat_map(|kind| [(kind, Word::Expired), (kind, Word::Unknown)]);
    each(cases.collect(), |(kind, word)| async move {
        let (aws, token) = (Aws::start(), TokenFile::new("token"));
        aws.provision("acme");
        let service = with_role(kind, &aws, &token).start().await;
        // Sessions that are younger than ten seconds are not given up.
        aws.holds_within(Duration::from_secs(11), |_| false).await;
        let revoked = aws.all_calls().last().map(|call| call.access_key.to_string()).unwrap_or_default();
        for service in [AwsService::Sqs, AwsService::DynamoDb] {
            let revoked = revoked.clone();
            let signed = move |asked: &Asked<'_>| asked.access_key == revoked;
            aws.on_service(service).when(signed).fail(word.of(service));
        }
        if kind == Kind::Producer {
            if word == Word::Unknown {
                // Keys that AWS does not know may be wrong ones: nobody waits for the next.
                let answer = service.event("acme", "{}").await;
                assert_eq!(answer.status, 503, "{}", answer.text());
                assert_honest(&answer);
                come_back(&aws, &answer).await;
            }
            let mut answer = service.event("acme", "{}").await;
            // With keys that may be wrong nobody is waited for, so a client may have to come back once more.
            for _ in 0..5 {
                if word == Word::Expired || answer.status == 200 {
                    break;
                }
                come_back(&aws, &answer).await;
                answer = service.event("acme", "{}").await;
            }
            assert_eq!(answer.status, 200, "{}", answer.text());
        } else {
            aws.put_message("consumer-acme", "{}", &[("tenant_id", "acme")]);
            aws.wait_until("the record", |aws| aws.row_count("consumer-acme") == 1).await;
        }
        assert_eq!(aws.count(Op::AssumeRoleWithWebIdentity), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_ended_when_it_comes_is_named_and_asked_for_with_pauses() {
    let (aws, token) = (Aws::start(), TokenFile::new("token"));
    aws.provision("acme");
    aws.only_sessions();
    let session = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAOLD</AccessKeyId>\
        <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2020-01-01T00:00:00Z</Expiration></Credentials>\
        </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
    let rule = aws.on(Op::AssumeRoleWithWebIdentity).answer(session);
    let service = with_role(Kind::Producer, &aws, &token).set("REQUEST_TIMEOUT", "1s").listening().await;
    service.process.line("whose clock is wrong", |line| line.contains("clock")).await;
    for _ in 0..5 {
        assert_eq!(service.event("acme", "{}").await.status, 503);
    }
    assert!(rule.hits() <= 12, "{} calls to STS", rule.hits());
    rule.lift();
    service.until_ready().await;
    assert_eq!(service.event("acme", "{}").await.status, 200);
}
