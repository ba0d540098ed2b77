//! The sandbox as a person meets it: the binary, its output, its exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as the tests themselves do")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn sandbox(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
    command.args(["--port", "0", "--aws-port", "0"]).args(arguments).env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A sandbox that stays up, killed when the test ends however it does.
struct Up(Child);

impl Up {
    /// Waits for the line that starts with `text`.
    fn wait_for(&mut self, text: &str) {
        let out = self.0.stdout.take().unwrap();
        let mut lines = BufReader::new(out).lines();
        assert!(lines.any(|line| line.unwrap().starts_with(text)), "the sandbox ended before it said {text:?}");
        // Goes on reading, so that the sandbox never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn once_says_what_landed_where_and_exits_with_0() {
    let output = sandbox(&["--once", "--tenant", "acme=advanced"]).output().unwrap();
    let (out, err) = text(&output);
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{out}");
    assert!(
        out.contains("  acme      advanced  consumer-acme      consumer-acme      pool-1    acme      acme\n"),
        "{out}"
    );
    for (tenant, table) in [
        ("tenant-1 (basic)", "consumer-pool-1"),
        ("tenant-2 (advanced)", "consumer-tenant-2"),
        ("tenant-3 (premium)", "consumer-tenant-3"),
        ("acme (advanced)", "consumer-acme"),
    ] {
        let line = out.lines().find(|line| line.starts_with(&format!("  {tenant}: record "))).unwrap_or_default();
        assert!(line.contains(&format!(" in {table} after ")) && line.ends_with(" ms"), "{tenant}: {out}");
    }
    assert!(out.ends_with("\nAll 4 events landed.\n"), "{out}");
}

#[test]
fn a_signal_ends_everything_within_seconds_and_with_0() {
    for signal in ["INT", "TERM"] {
        let mut up = Up(sandbox(&[]).stdout(Stdio::piped()).spawn().unwrap());
        up.wait_for("Records as they land");
        up.signal(signal);
        let told = Instant::now();
        let status = up.0.wait().unwrap();
        assert_eq!(status.code(), Some(0), "SIG{signal}");
        assert!(told.elapsed() < Duration::from_secs(15), "SIG{signal}: {:?}", told.elapsed());
    }
}

#[test]
fn a_port_in_use_is_one_line_that_names_the_option_and_exits_with_1() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for option in ["--port", "--aws-port"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
        let other = if option == "--port" { "--aws-port" } else { "--port" };
        let output = command.args(["--once", other, "0", option, &port.to_string()]).output().unwrap();
        let expected = format!(
            "sandbox: {option} {port}: 127.0.0.1:{port} is in use by another process; give another one (0 takes a free one)\n"
        );
        assert_eq!((output.status.code(), text(&output)), (Some(1), (String::new(), expected)));
    }
}

#[test]
fn a_tenant_with_two_tiers_is_refused() {
    let output = sandbox(&["--once", "--tenant", "tenant-1=premium"]).output().unwrap();
    let expected = "sandbox: --tenant: tenant tenant-1 cannot be basic and premium; leave one of them out\n";
    assert_eq!((output.status.code(), text(&output).1.as_str()), (Some(1), expected));
}
