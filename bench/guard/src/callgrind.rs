//! Counting the instructions of a path: this program runs itself under callgrind, which counts between the entry of the path's
//! function and its return.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::paths::MESSAGES;

/// Made of `same_every_run.c`, beside the program: takes chance and time out of it.
const PRELOADED: &str = "same_every_run.so";

/// The allocator has no thread of its own and does nothing because of the time that has passed.
const ALLOCATOR: &str = "background_thread:false,dirty_decay_ms:-1,muzzy_decay_ms:-1,tcache_gc_incr_bytes:1073741824";

/// Instructions a message of the path `name`. `program` is run with `count NAME`.
///
/// # Errors
/// valgrind cannot be run, the path does not come through, or nothing was counted.
pub fn count(program: &Path, name: &str) -> Result<u64, String> {
    let out = output(name);
    let counted = run(program, name, &out).and_then(|()| fs::read_to_string(&out).map_err(|error| error.to_string()));
    let _ = fs::remove_file(&out);
    let text = counted.map_err(|error| format!("{name}: {error}"))?;
    a_message(&text).map_err(|error| format!("{name}: {error}"))
}

fn output(name: &str) -> PathBuf {
    env::temp_dir().join(format!("bench-guard-{}-{name}", std::process::id()))
}

fn run(program: &Path, name: &str, out: &Path) -> Result<(), String> {
    let (Some(folder), Some(file)) = (program.parent(), program.file_name()) else {
        return Err(format!("{} is no program", program.display()));
    };
    if !folder.join(PRELOADED).is_file() {
        return Err(format!("there is no {PRELOADED} in {}: tools/bench-guard makes it", folder.display()));
    }
    let mut out_file = OsString::from("--callgrind-out-file=");
    out_file.push(out);
    let mut valgrind = Command::new(valgrind(&env::var_os("PATH").unwrap_or_default())?);
    valgrind
        .args(["-q", "--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=bench_guard::paths::{name}*"))
        .arg(out_file)
        .arg(Path::new(".").join(file))
        .args(["count", name])
        // What is on a program's stack when it starts moves what comes after it: always the same, wherever it is built.
        .current_dir(folder)
        .env_clear()
        .env("_RJEM_MALLOC_CONF", ALLOCATOR)
        .env("LD_PRELOAD", Path::new(".").join(PRELOADED));
    let done = valgrind.output().map_err(|error| format!("valgrind cannot be run: {error}"))?;
    if !done.status.success() {
        return Err(format!("{} under valgrind: {}", done.status, String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(())
}

/// Where it is: what is run without an environment has no path to look in.
fn valgrind(path: &OsStr) -> Result<PathBuf, String> {
    let found = env::split_paths(path).map(|folder| folder.join("valgrind")).find(|file| file.is_file());
    found.ok_or_else(|| "valgrind is missing: install it (Debian: apt-get install valgrind)".to_owned())
}

/// From callgrind's file.
fn a_message(text: &str) -> Result<u64, String> {
    let total = text.lines().find_map(|line| line.strip_prefix("totals:")?.trim().parse::<u64>().ok());
    match total.unwrap_or_default() / u64::from(MESSAGES) {
        0 => Err("callgrind counted nothing: has the binary its symbols, and a function of this name?".to_owned()),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_of_a_thousand_messages() {
        assert_eq!(a_message("events: Ir\nfn=(1) x\n1 5\ntotals: 1234567\n"), Ok(1_234));
    }

    #[test]
    fn nothing_counted_is_a_failure() {
        for text in ["", "totals: 0\n", "totals: \n", "summary: 12\n"] {
            assert!(a_message(text).unwrap_err().starts_with("callgrind counted nothing"), "{text:?}");
        }
    }

    #[test]
    fn without_valgrind_it_fails_and_says_what_to_install() {
        let error = valgrind(OsStr::new("/nowhere:/neither")).unwrap_err();
        assert_eq!(error, "valgrind is missing: install it (Debian: apt-get install valgrind)");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure() {
        assert!(count(Path::new("/nowhere/bench-guard"), "header_to_tenant").is_err());
    }
}
