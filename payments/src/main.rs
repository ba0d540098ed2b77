//! The process: settings from the environment, signals, exit status. All of the service is in the library.

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    tenancy::process::main(payments::NAME, payments::BUILD_VERSION, payments::build)
}
