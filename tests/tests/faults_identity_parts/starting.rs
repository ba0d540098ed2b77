//! Starts that go wrong: a signal before a service is ready, and an environment that is none.

use std::time::Duration;

use tests::matrix::each;
use tests::scripted::{Aws, Fault, Op};
use tests::service::{Kind, Launch};

use super::{TokenFile, with_web_identity};

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_while_the_parameters_are_slow_to_come_ends_each_service_promptly_with_0() {
    let mut cases = Vec::new();
    for kind in [Kind::Producer, Kind::Consumer, Kind::Payments] {
        for slow in [Op::GetParameters, Op::AssumeRoleWithWebIdentity] {
            cases.extend(["TERM", "INT"].map(|signal| (kind, slow, signal)));
        }
    }
    each(cases, |(kind, slow, signal)| async move {
        let (aws, token) = (Aws::start(), TokenFile::new("token"));
        aws.provision("acme");
        let rule = aws.on(slow).fail(Fault::Late(Duration::from_secs(60)));
        let mut service = with_web_identity(kind, &aws, &token).listening().await;
        aws.wait_until("the slow call", |_| rule.hits() >= 1).await;
        assert!(!service.is_ready().await);
        service.process.signal(signal).await;
        let (code, took) = service.process.ended().await;
        assert_eq!(code, Some(0), "{}", service.process.story());
        assert!(took < Duration::from_secs(8), "{took:?}");
        assert_eq!(aws.count(Op::ReceiveMessage), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_environment_with_white_space_around_it_is_refused_with_one_line_before_any_call() {
    for kind in [Kind::Producer, Kind::Consumer, Kind::Payments] {
        for (environment, shown) in [
            ("acme ", r#""acme ""#),
            (" acme", r#"" acme""#),
            ("acme\n", r#""acme\n""#),
            ("acme\r\n", r#""acme\r\n""#),
            ("pool-1 ", r#""pool-1 ""#),
            ("pool-1\n", r#""pool-1\n""#),
            (" ", r#"" ""#),
        ] {
            let aws = Aws::start();
            aws.provision("acme");
            aws.provision("pool-1");
            let mut command = Launch::new(kind, &aws, environment).command();
            let ended = tokio::time::timeout(Duration::from_secs(30), command.kill_on_drop(true).output()).await;
            let ended = ended.expect("it ends by itself").expect("it starts");
            let said = String::from_utf8(ended.stderr).expect("text");
            let line = format!(
                "{}: ENVIRONMENT: invalid value {shown}: neither a pool (pool-1 to pool-9999) nor a tenant id: a tenant id \
                 matches ^[a-z]([a-z0-9-]*[a-z0-9])?$ without two hyphens in a row\n",
                kind.name()
            );
            assert_eq!((ended.status.code(), said), (Some(2), line), "{environment:?}");
            assert!(ended.stdout.is_empty() && aws.all_calls().is_empty(), "{environment:?}");
        }
    }
}
