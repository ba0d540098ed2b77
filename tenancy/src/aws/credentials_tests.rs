use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Gives out sessions of `life`; each try takes `delay`; the tries in `failing` fail.
#[derive(Debug)]
struct Sts {
    calls: AtomicU32,
    life: Duration,
    delay: Duration,
    failing: std::ops::Range<u32>,
}

impl Sts {
    fn start(life: Duration, delay: Duration, failing: std::ops::Range<u32>) -> (Arc<Self>, Refreshing) {
        let sts = Arc::new(Self { calls: AtomicU32::new(0), life, delay, failing });
        let provider = SharedCredentialsProvider::new(Shared(sts.clone()));
        (sts, Refreshing::new("a test", provider))
    }

    fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
struct Shared(Arc<Sts>);

impl ProvideCredentials for Shared {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let call = self.0.calls.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(self.0.delay).await;
            if self.0.failing.contains(&call) {
                return Err(CredentialsError::provider_error("token file /var/run/token cannot be read"));
            }
            let expiry = SystemTime::now() + self.0.life;
            Ok(Credentials::new(format!("key-{call}"), "secret", None, Some(expiry), "test"))
        })
    }
}

#[tokio::test]
async fn a_thousand_callers_cost_one_call() {
    let (sts, provider) = Sts::start(Duration::from_secs(3600), Duration::from_millis(20), 0..0);
    let callers: Vec<_> =
        (0..1000).map(|_| provider.clone()).map(|p| tokio::spawn(async move { p.credentials().await })).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap().access_key_id(), "key-0");
    }
    assert_eq!(sts.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_does_not_end_the_renewal() {
    let (sts, provider) = Sts::start(Duration::from_secs(3600), Duration::from_millis(200), 0..0);
    let hasty = tokio::time::timeout(Duration::from_millis(20), provider.credentials()).await;
    assert!(hasty.is_err());
    assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-0");
    assert_eq!(sts.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn credentials_are_renewed_before_they_expire_and_nobody_waits() {
    // A fifth of ten seconds before the end is after eight: make it due at once by a life that is almost over.
    let (sts, provider) = Sts::start(Duration::from_secs(10), Duration::from_millis(50), 0..0);
    provider.credentials().await.unwrap();
    {
        let mut state = provider.0.state.lock().unwrap();
        state.current.as_mut().unwrap().renew_at = Some(SystemTime::now());
    }
    let began = tokio::time::Instant::now();
    assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-0");
    assert_eq!(began.elapsed(), Duration::ZERO, "the caller waited for the renewal");
    let mut renewal = provider.0.state.lock().unwrap().renewal.clone().unwrap();
    renewal.wait_for(Option::is_some).await.unwrap();
    assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-1");
    assert_eq!(sts.calls(), 2);
}

#[tokio::test]
async fn while_the_source_fails_valid_credentials_stay_in_use() {
    let (_, provider) = Sts::start(Duration::from_secs(10), Duration::ZERO, 1..100);
    provider.credentials().await.unwrap();
    provider.0.state.lock().unwrap().current.as_mut().unwrap().renew_at = Some(SystemTime::now());
    for _ in 0..20 {
        assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-0");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_failing_source_is_not_asked_again_at_once_and_its_words_are_kept() {
    let (sts, provider) = Sts::start(Duration::from_secs(10), Duration::ZERO, 0..100);
    for _ in 0..50 {
        let error = provider.credentials().await.unwrap_err();
        assert!(super::super::causes(&error).contains("/var/run/token"), "{error:?}");
    }
    assert_eq!(sts.calls(), 1);
}

#[test]
fn the_environment_names_one_source() {
    let find = |pairs: &[(&str, &str)]| {
        CredentialSource::find(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    };
    assert_eq!(find(&[]), CredentialSource::Default);
    assert_eq!(find(&[("AWS_ACCESS_KEY_ID", "x")]), CredentialSource::Variables);
    let irsa = find(&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"), ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/r")]);
    assert_eq!(irsa.to_string(), "web identity token /t for role arn:aws:iam::123456789012:role/r");
    let pod = find(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials")]);
    assert_eq!(pod, CredentialSource::Container("http://169.254.170.23/v1/credentials".to_owned()));
}

#[tokio::test]
async fn credentials_that_aws_does_not_take_are_renewed_once_and_not_over_and_over() {
    let (sts, provider) = Sts::start(Duration::from_secs(3600), Duration::ZERO, 0..0);
    provider.credentials().await.unwrap();
    provider.rejected();
    assert!(provider.0.state.lock().unwrap().renewal.is_none(), "newer than ten seconds");
    let old = Instant::now().checked_sub(REJECTED_AGAIN).unwrap();
    provider.0.state.lock().unwrap().current.as_mut().unwrap().since = old;
    for _ in 0..100 {
        provider.rejected();
    }
    let mut renewal = provider.0.state.lock().unwrap().renewal.clone().unwrap();
    renewal.wait_for(Option::is_some).await.unwrap();
    assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-1");
    provider.rejected();
    assert_eq!(sts.calls(), 2);
}

#[tokio::test]
async fn credentials_that_have_ended_when_they_come_are_an_error_and_not_asked_for_at_once_again() {
    let (sts, provider) = Sts::start(Duration::ZERO, Duration::ZERO, 0..0);
    for _ in 0..50 {
        let error = provider.credentials().await.unwrap_err();
        assert!(super::super::causes(&error).contains("is this machine's clock right?"), "{error:?}");
    }
    assert_eq!(sts.calls(), 1);
}

#[tokio::test]
async fn however_long_the_source_failed_it_is_asked_again_within_ten_seconds_and_what_comes_is_used() {
    let (sts, provider) = Sts::start(Duration::from_secs(3600), Duration::ZERO, 0..50);
    let mut outage = Duration::ZERO;
    for _ in 0..50 {
        provider.credentials().await.unwrap_err();
        let mut state = provider.0.state.lock().unwrap();
        let (until, _) = state.pause.as_mut().unwrap();
        let pause = until.saturating_duration_since(Instant::now());
        assert!(pause <= Duration::from_secs(10), "{pause:?}");
        outage += pause;
        // It is over.
        *until = Instant::now();
    }
    assert!(outage > Duration::from_secs(180), "{outage:?}");
    assert_eq!(provider.credentials().await.unwrap().access_key_id(), "key-50");
    assert_eq!(sts.calls(), 51);
}
