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
