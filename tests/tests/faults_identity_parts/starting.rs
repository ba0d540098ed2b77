//! A signal while a service is still starting.

use std::time::Duration;

use tests::matrix::each;
use tests::scripted::{Aws, Fault, Op};
use tests::service::Kind;

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
        assert!(took < Duration::from_secs(3), "{took:?}");
        assert_eq!(aws.count(Op::ReceiveMessage), 0);
    })
    .await;
}
