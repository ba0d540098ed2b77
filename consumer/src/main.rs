//! The process: settings from the environment, signals, exit status. All of the service is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    consumer::main()
}
