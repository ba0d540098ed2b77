//! `bench-guard COMMITTED [--update]` counts every hot path and holds the counts against the file, or writes it.
//! `bench-guard count PATH` is what it runs under callgrind.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::{Command, ExitCode};
use std::{env, fs};

use bench_guard::callgrind;
use bench_guard::counts::Counts;
use bench_guard::paths::{MESSAGES, PATHS};

/// The services' own; what it costs is pinned with it, and not the machine's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["count", name] => run(name).map(|()| true),
        [committed] => hold(committed),
        [committed, "--update"] => update(committed).map(|()| true),
        _ => Err("usage: bench-guard COMMITTED [--update]".to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-guard: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Lets the messages through a path.
fn run(name: &str) -> Result<(), String> {
    let path = PATHS.iter().find(|path| path.name == name).ok_or_else(|| format!("there is no path {name:?}"))?;
    let came = (path.run)().map_err(|error| error.to_string())?;
    if came as u64 == u64::from(MESSAGES) { Ok(()) } else { Err(format!("{came} of {MESSAGES} messages came through")) }
}

fn hold(committed: &str) -> Result<bool, String> {
    let text = fs::read_to_string(committed).map_err(|error| format!("{committed}: {error}"))?;
    let committed = Counts::from_file(&text).map_err(|error| format!("{committed}: {error}"))?;
    let verdict = counted()?.against(&committed);
    print!("{}", verdict.text);
    Ok(verdict.holds)
}

fn update(committed: &str) -> Result<(), String> {
    let text = counted()?.to_file();
    fs::write(committed, &text).map_err(|error| format!("{committed}: {error}"))?;
    print!("{committed} is now:\n{text}");
    Ok(())
}

fn counted() -> Result<Counts, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let count = |name: &str| Ok((name.to_owned(), callgrind::count(&program, name)?));
    let instructions = PATHS.iter().map(|path| count(path.name)).collect::<Result<_, String>>()?;
    Ok(Counts { compiler: compiler()?, instructions })
}

/// The compiler that a build here would use, and did.
fn compiler() -> Result<String, String> {
    let said = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    match (said.lines().next(), host) {
        (Some(release), Some(host)) => Ok(format!("{release}, {host}")),
        _ => Err(format!("rustc -vV says {said:?}")),
    }
}
