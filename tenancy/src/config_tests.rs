use super::*;
use proptest::prelude::*;

#[derive(Debug, Parser)]
struct Example {
    #[command(flatten)]
    common: Common,
}

impl Settings for Example {
    fn common(&self) -> &Common {
        &self.common
    }

    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

fn read(args: &[&str]) -> Result<Common, String> {
    let args = std::iter::once("example").chain(args.iter().copied()).map(Into::into);
    match parse::<Example>(args) {
        Ok(Parsed::Run(example)) => Ok(example.common),
        Ok(Parsed::Print(text)) => Err(text),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_defaults_are_those_of_the_documentation() {
    let common = read(&["--environment", "acme"]).unwrap();
    assert_eq!((common.port, common.admin_port), (8080, 9090));
    assert_eq!(common.host.to_string(), "0.0.0.0");
    assert_eq!(common.directory_ttl, Span::secs(300));
    assert_eq!(common.request_timeout, Span::secs(10));
    assert_eq!(common.drain_delay, Span::secs(5));
    assert_eq!(common.shutdown_timeout, Span::secs(30));
    assert_eq!(common.max_body_bytes, 10_485_760);
    assert_eq!(common.model(), TenantModel::Silo);
    assert_eq!(read(&["--environment", "pool-1"]).unwrap().model(), TenantModel::Pool);
}

#[test]
fn a_wrong_setting_is_one_line_that_names_the_variable() {
    for (args, line) in [
        (&[][..], "ENVIRONMENT: must be set"),
        (
            &["--environment", "Acme"],
            "ENVIRONMENT: invalid value \"Acme\": neither a pool (pool-1 to pool-9999) nor a tenant id: \
             a tenant id matches ^[a-z]([a-z0-9-]*[a-z0-9])?$ without two hyphens in a row",
        ),
        (
            &["--environment", "acme", "--drain-delay", "5 seconds"],
            "DRAIN_DELAY: invalid value \"5 seconds\": a duration is a whole number with ms, s or m, such as 250ms, 5s or 2m; \
             a bare number is seconds",
        ),
        (
            &["--environment", "acme", "--log-format", "xml"],
            "LOG_FORMAT: invalid value \"xml\": it is one of json, text",
        ),
        (
            &["--environment", "acme", "--tenant-model", "pool"],
            "TENANT_MODEL: pool needs an ENVIRONMENT such as pool-1, not acme",
        ),
        (
            &["--environment", "pool-1", "--tenant-model", "silo"],
            "TENANT_MODEL: silo needs an ENVIRONMENT that is a tenant's id, not pool-1",
        ),
        (&["--environment", "acme", "--admin-port", "8080"], "ADMIN_PORT: must differ from PORT, both are 8080"),
        (
            &["--environment", "acme", "--drain-delay", "30s"],
            "SHUTDOWN_TIMEOUT: must be longer than DRAIN_DELAY (30s), not 30s",
        ),
        (&["--environment", "acme", "--request-timeout", "0"], "REQUEST_TIMEOUT: must be longer than 0"),
        (&["--environment", "acme", "--nonsense"], "command line: unexpected argument '--nonsense' found"),
    ] {
        assert_eq!(read(args).unwrap_err(), line);
    }
    assert!(
        read(&["--environment", "acme", "--port", "70000"]).unwrap_err().starts_with("PORT: invalid value \"70000\"")
    );
    assert!(read(&["--environment", "acme", "--rust-log", "a=b=c"]).unwrap_err().starts_with("RUST_LOG: "));
}

#[test]
fn a_duration_has_a_unit_or_is_seconds() {
    for (text, millis) in [("250ms", 250), ("5s", 5_000), ("2m", 120_000), ("0", 0), ("7", 7_000), ("0ms", 0)] {
        assert_eq!(text.parse::<Span>().map(|span| span.get().as_millis()), Ok(millis), "{text}");
    }
    for text in ["", "s", "5h", "-1s", "1.5s", "5 s", "s5", "1s1", "99999999999999999999", "25000000", "١s"] {
        assert_eq!(text.parse::<Span>(), Err(SpanError), "{text}");
    }
}

proptest! {
    #[test]
    fn a_duration_reads_back_as_it_is_shown(millis in 0u64..86_400_000) {
        let span = Span::millis(millis);
        prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
    }
}

fn acme(args: &[&str]) -> Result<Common, String> {
    read(&[&["--environment", "acme"], args].concat())
}

#[test]
fn identity_is_off_unless_an_issuer_and_an_audience_are_set() {
    assert_eq!(acme(&[]).unwrap().auth.identity(), Ok(None));
    let on = acme(&["--auth-issuer", "https://login.example.com/t/", "--auth-audience", "plane"]).unwrap();
    let identity = on.auth.identity().unwrap().unwrap();
    assert_eq!((identity.issuer.as_str(), identity.audience.as_str()), ("https://login.example.com/t/", "plane"));
    assert_eq!((identity.tenant_claim.as_str(), identity.skew.as_secs(), identity.jwks_url), ("tenant_id", 30, None));
    assert_eq!(identity.issuer.discovery(), "https://login.example.com/t/.well-known/openid-configuration");
}

#[test]
fn identity_set_by_half_or_insecurely_is_refused() {
    let on = ["--auth-issuer", "https://login.example.com", "--auth-audience", "plane"];
    let url = "it is a URL such as https://login.example.com/tenants, without fragment or user";
    let plain = "it must be https (http only for an issuer on this machine, such as http://127.0.0.1:9000)";
    let port = "its port is a number from 1 to 65535";
    for (args, line) in [
        (
            &["--auth-issuer", "https://login.example.com"][..],
            "AUTH_AUDIENCE: must be set, since AUTH_ISSUER is".to_owned(),
        ),
        (&["--auth-audience", "plane"], "AUTH_ISSUER: must be set, since AUTH_AUDIENCE is".to_owned()),
        (
            &["--auth-jwks-url", "https://login.example.com/keys"],
            "AUTH_ISSUER: must be set, since AUTH_JWKS_URL is".to_owned(),
        ),
        (&["--auth-issuer", ""], format!("AUTH_ISSUER: invalid value \"\": {url}")),
        (&["--auth-issuer", "login.example.com"], format!("AUTH_ISSUER: invalid value \"login.example.com\": {url}")),
        (&["--auth-issuer", "ftp://example.com"], format!("AUTH_ISSUER: invalid value \"ftp://example.com\": {url}")),
        (
            &["--auth-issuer", "https://a@b.example"],
            format!("AUTH_ISSUER: invalid value \"https://a@b.example\": {url}"),
        ),
        (
            &["--auth-issuer", "https://b.example/#a"],
            format!("AUTH_ISSUER: invalid value \"https://b.example/#a\": {url}"),
        ),
        (
            &["--auth-issuer", "https://b.example?a=1"],
            "AUTH_ISSUER: must have no query: https://b.example?a=1".to_owned(),
        ),
        (&["--auth-issuer", "http://b.example"], format!("AUTH_ISSUER: invalid value \"http://b.example\": {plain}")),
        (&["--auth-issuer", "http://10.0.0.1"], format!("AUTH_ISSUER: invalid value \"http://10.0.0.1\": {plain}")),
        (
            &["--auth-issuer", "http://localhost.example.com"],
            format!("AUTH_ISSUER: invalid value \"http://localhost.example.com\": {plain}"),
        ),
        (
            &["--auth-issuer", "https://b.example:99999"],
            format!("AUTH_ISSUER: invalid value \"https://b.example:99999\": {port}"),
        ),
        (
            &["--auth-jwks-url", "https://b.example:0/keys"],
            format!("AUTH_JWKS_URL: invalid value \"https://b.example:0/keys\": {port}"),
        ),
    ] {
        assert_eq!(acme(args).unwrap_err(), line);
    }
    for (args, line) in [
        (
            ["--auth-jwks-url", "https://keys.example.com/jwks"],
            "AUTH_JWKS_URL: must be of the issuer's own scheme, host and port (https://login.example.com:443), \
             not https://keys.example.com/jwks",
        ),
        (
            ["--auth-jwks-url", "https://login.example.com:8443/jwks"],
            "AUTH_JWKS_URL: must be of the issuer's own scheme, host and port (https://login.example.com:443), \
             not https://login.example.com:8443/jwks",
        ),
        (["--auth-clock-skew", "6m"], "AUTH_CLOCK_SKEW: must be at most 5m, not 6m"),
        (
            ["--auth-tenant-claim", "aud"],
            "AUTH_TENANT_CLAIM: must name the claim that holds the tenant's id, not \"aud\"",
        ),
    ] {
        assert_eq!(acme(&[&on[..], &args].concat()).unwrap_err(), line);
    }
    let local =
        ["--auth-issuer", "http://[::1]:9000/a", "--auth-audience", "x", "--auth-jwks-url", "http://[::1]:9000/k"];
    assert!(acme(&local).is_ok());
    let same = ["--auth-jwks-url", "https://LOGIN.example.com:443/keys"];
    assert!(acme(&[&on[..], &same].concat()).is_ok());
}

#[test]
fn the_tenants_with_metrics_of_their_own_are_bounded() {
    assert_eq!(acme(&[]).unwrap().metrics_tenants, 100);
    assert_eq!(acme(&["--metrics-tenants", "1000"]).unwrap().metrics_tenants, 1_000);
    assert_eq!(acme(&["--metrics-tenants", "0"]).unwrap().metrics_tenants, 0);
    assert_eq!(acme(&["--metrics-tenants", "1001"]).unwrap_err(), "METRICS_TENANTS: must be at most 1000, not 1001");
}

#[test]
fn limits_are_off_unless_set_and_a_tenant_may_have_its_own() {
    assert_eq!(acme(&[]).unwrap().share.shares(), Ok(None));
    assert_eq!(acme(&["--limit-overrides", "globex=-:-"]).unwrap().share.shares(), Ok(None));
    let args =
        ["--limit-requests", "100", "--limit-bytes", "1000", "--limit-overrides", "globex=5, initech=-:7,umbrella=9:-"];
    let shares = acme(&args).unwrap().share.shares().unwrap().unwrap();
    let rates = |requests: u64, bytes: u64| Rates {
        requests: std::num::NonZeroU64::new(requests),
        bytes: std::num::NonZeroU64::new(bytes),
    };
    assert_eq!((shares.general, shares.burst.as_secs()), (rates(100, 1_000), 2));
    for (tenant, own) in [("globex", rates(5, 1_000)), ("initech", rates(0, 7)), ("umbrella", rates(9, 0))] {
        assert_eq!(shares.own[&tenant.parse().unwrap()], own, "{tenant}");
    }
}

#[test]
fn a_limit_that_means_nothing_is_refused() {
    let whole = "it is a whole number from 1 to 1000000000000; leave it unset for no limit";
    for (args, line) in [
        (["--limit-requests", "0"], format!("LIMIT_REQUESTS: invalid value \"0\": {whole}")),
        (["--limit-bytes", "+1"], format!("LIMIT_BYTES: invalid value \"+1\": {whole}")),
        (["--limit-bytes", "1.5"], format!("LIMIT_BYTES: invalid value \"1.5\": {whole}")),
        (["--limit-burst", "500ms"], "LIMIT_BURST: must be whole seconds from 1s to 60m, not 500ms".to_owned()),
        (["--limit-burst", "61m"], "LIMIT_BURST: must be whole seconds from 1s to 60m, not 61m".to_owned()),
        (
            ["--limit-overrides", "globex"],
            "LIMIT_OVERRIDES: invalid value \"globex\": \"globex\" is not written TENANT=REQUESTS or TENANT=REQUESTS:BYTES"
                .to_owned(),
        ),
        (
            ["--limit-overrides", "Globex=1"],
            "LIMIT_OVERRIDES: invalid value \"Globex=1\": \"Globex\": \
             a tenant id matches ^[a-z]([a-z0-9-]*[a-z0-9])?$ without two hyphens in a row"
                .to_owned(),
        ),
        (
            ["--limit-overrides", "globex=1,globex=2"],
            "LIMIT_OVERRIDES: invalid value \"globex=1,globex=2\": globex is named twice".to_owned(),
        ),
        (
            ["--limit-overrides", "globex=1:x"],
            format!("LIMIT_OVERRIDES: invalid value \"globex=1:x\": \"globex=1:x\": {whole}"),
        ),
    ] {
        assert_eq!(acme(&args).unwrap_err(), line);
    }
}
