//! The process itself: memory, processor time, descriptors and threads, under the names that every Prometheus client uses. Read
//! from `/proc` when somebody scrapes; where there is none, there is nothing to show.

use std::fmt::Write as _;

use super::metric::Metric;

/// Ticks of the processor clock in a second: part of Linux' interface to programs, the same on every machine.
const TICKS: f64 = 100.0;

/// The metrics of this file.
pub const METRICS: &[Metric] = &[
    Metric::counter("process_cpu_seconds_total", "seconds", "Processor time, user and system."),
    Metric::gauge("process_resident_memory_bytes", "bytes", "Memory that is resident."),
    Metric::gauge("process_virtual_memory_bytes", "bytes", "Address space that is mapped."),
    Metric::gauge("process_threads", "threads", "Threads."),
    Metric::gauge("process_open_fds", "descriptors", "Open file descriptors, connections among them."),
    Metric::gauge("process_max_fds", "descriptors", "File descriptors that the process may have open."),
    Metric::gauge("process_start_time_seconds", "seconds", "When the process started, in seconds since 1970."),
];

/// The metrics in Prometheus' text format.
#[must_use]
pub fn render() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (status, stat) = (read("/proc/self/status"), read("/proc/self/stat"));
    let kilobytes = |name: &str| number(&status, name).map(|kilobytes| kilobytes * 1_024.0);
    // This very look has one open.
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|open| open.count().saturating_sub(1) as f64);
    let values = [
        processor_seconds(&stat),
        kilobytes("VmRSS:"),
        kilobytes("VmSize:"),
        number(&status, "Threads:"),
        open,
        number(&read("/proc/self/limits"), "Max open files"),
        started(&stat, &read("/proc/stat")),
    ];
    let mut text = String::new();
    for (metric, value) in METRICS.iter().zip(values) {
        if let Some(value) = value {
            let (name, kind) = (metric.name, metric.kind.as_str());
            let _ = write!(text, "# HELP {name} {}\n# TYPE {name} {kind}\n{name} {value}\n\n", metric.meaning);
        }
    }
    text
}

/// The first number after `name` in a file of named lines.
fn number(file: &str, name: &str) -> Option<f64> {
    let line = file.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A field of `/proc/self/stat`, counted from 1 as its manual does. The second is the program's name, in brackets, and may
/// have spaces and brackets of its own.
fn field(stat: &str, place: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_whitespace().nth(place.checked_sub(3)?)?.parse().ok()
}

fn processor_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS)
}

fn started(stat: &str, system: &str) -> Option<f64> {
    Some(number(system, "btime")? + field(stat, 22)? / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_s_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 5 0 1000 9 9";
        assert_eq!(processor_seconds(stat), Some(3.0));
        assert_eq!(started(stat, "cpu 1 2 3\nbtime 1796052000\n"), Some(1_796_052_010.0));
    }

    #[test]
    fn this_process_has_memory_descriptors_and_threads() {
        let text = render();
        for metric in METRICS {
            let name = metric.name;
            assert!(text.contains(&format!("# TYPE {name} {}\n", metric.kind.as_str())), "{name}: {text}");
            let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap();
            assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{name} {value}");
        }
        assert!(number(&text, "process_resident_memory_bytes").unwrap() > 1_048_576.0);
        assert!(number(&text, "process_open_fds").unwrap() >= 3.0);
    }
}
