//! The process: settings from the environment, signals, exit status. All of the service is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenancy::process::main(producer::NAME, producer::BUILD_VERSION, producer::build)
}
