//! The services in one binary, so that `cargo test` builds what the tests run: `SERVICE` says which one it is.

use std::process::ExitCode;

use tenancy::process;

fn main() -> ExitCode {
    match std::env::var("SERVICE").as_deref() {
        Ok(producer::NAME) => process::main(producer::NAME, producer::BUILD_VERSION, producer::build),
        Ok(consumer::NAME) => consumer::main(),
        Ok(payments::NAME) => process::main(payments::NAME, payments::BUILD_VERSION, payments::build),
        other => unreachable!("the tests set SERVICE to a service's name, not to {other:?}"),
    }
}
