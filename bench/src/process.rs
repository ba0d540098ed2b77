//! What a process has used so far, from `/proc`.

use std::fs;
use std::io;
use std::time::Duration;

/// Ticks of a second in `/proc/PID/stat`, on every Linux of today.
const TICKS_PER_SECOND: u64 = 100;

/// What a process has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// CPU time of all its threads, in user space and in the kernel.
    pub(crate) cpu: Duration,
    /// Memory that is resident now, in KiB.
    pub(crate) resident_kib: u64,
    /// The most that has been resident, in KiB.
    pub(crate) peak_kib: u64,
}

/// What the process `id` has used so far.
///
/// # Errors
/// There is no such process.
pub(crate) fn usage(id: u32) -> io::Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let cpu = cpu(&stat).ok_or_else(|| io::Error::other(format!("/proc/{id}/stat cannot be read: {stat}")))?;
    Ok(Usage { cpu, resident_kib: kib(&status, "VmRSS:"), peak_kib: kib(&status, "VmHWM:") })
}

/// `utime` and `stime`, the 14th and 15th field; the second may have spaces and ends with the last parenthesis.
fn cpu(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1_000 / TICKS_PER_SECOND))
}

fn kib(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_time_of_all_threads() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 0 0 0 250 125 0 0 20 0 3 0 100 1 1";
        assert_eq!(cpu(stat), Some(Duration::from_millis(3_750)));
        assert_eq!(cpu("42 (x) S 1"), None);
    }

    #[test]
    fn memory_is_read_from_the_status() {
        let status = "Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t   12288 kB\n";
        assert_eq!((kib(status, "VmHWM:"), kib(status, "VmRSS:")), (20_480, 12_288));
    }

    #[test]
    fn this_process_has_used_something() {
        let usage = usage(std::process::id()).unwrap();
        assert!(usage.peak_kib >= usage.resident_kib && usage.resident_kib > 500, "{usage:?}");
        assert!(super::usage(u32::MAX).is_err());
    }
}
