//! Properties of the services together: any JSON comes out of the table as it went into the producer, any message ends in the
//! table or as a dead letter, and nothing that a client sends hurts. `PROPTEST_CASES` says how often each is tried.

mod json;
mod messages;
mod requests;

use std::sync::LazyLock;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;

/// A runner that tries as often as `PROPTEST_CASES` says, else so often; a failure is made small, which takes a while, and printed.
fn runner(cases: u32) -> TestRunner {
    let asked = std::env::var("PROPTEST_CASES").ok().map(|text| text.parse().expect("a number"));
    let config = ProptestConfig { cases: asked.unwrap_or(cases), max_shrink_iters: 200, ..ProptestConfig::default() };
    // Failures are not written beside the sources: the message has what it takes.
    TestRunner::new(ProptestConfig { failure_persistence: None, ..config })
}

/// Services and AWS live on one runtime, cases run one after another on it.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
