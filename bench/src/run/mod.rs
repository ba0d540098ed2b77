//! The runs: each part measures its cases, and appends what it finds to the results.
//!
//! A case is measured at least five times. The subjects of a case take turns within each round, so that a ratio compares runs
//! that were made under the same conditions.

mod aws;
mod drain;
mod end_to_end;
mod flood;
mod identity;
mod parts;
mod peers;
mod places;
mod post;
mod results;
mod sandbox;
mod scale;
mod subject;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::Command;

pub(crate) use aws::Aws;
pub(crate) use parts::Part;
pub(crate) use places::Places;
pub(crate) use results::{Origin, Results, Row, Spread};
pub(crate) use subject::Subject;

/// What a run found, by name. A name ends in its unit.
pub(crate) type Found = BTreeMap<String, f64>;

/// Everything that the parts need.
pub(crate) struct Bench {
    pub(crate) places: Places,
    pub(crate) aws: Aws,
    results: Results,
    origin: Origin,
    /// Rounds a case.
    pub(crate) rounds: u32,
    /// How long one load takes, in seconds.
    pub(crate) seconds: f64,
    /// Fewer and shorter runs: a look, not a result.
    pub(crate) quick: bool,
}

impl Bench {
    /// Ready to run; the endpoint is up.
    pub(crate) fn new(quick: bool, rounds: Option<u32>, command: String) -> io::Result<Self> {
        let places = Places::new();
        let aws = Aws::start(&std::env::current_exe()?)?;
        let results = Results::at(places.results(quick));
        let origin = Origin { command, machine: machine(), date: today() };
        let rounds = rounds.unwrap_or(if quick { 1 } else { 5 });
        let seconds = if quick { 1.0 } else { 2.0 };
        Ok(Self { places, aws, results, origin, rounds, seconds, quick })
    }

    /// Runs a part from its beginning.
    pub(crate) fn run(&self, part: Part) -> io::Result<()> {
        self.results.forget(part.name())?;
        part.run(self)
    }

    /// Keeps what a run found, and shows it.
    fn keep(&self, part: Part, subject: &str, case: &str, run: u32, found: Found) -> io::Result<()> {
        let shown: Vec<String> = found.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
        say(&format!("{} · {subject} · {case} · run {run}: {}", part.name(), shown.join(", ")));
        let (subject, case) = (subject.to_owned(), case.to_owned());
        self.results.add(&Row { part: part.name().to_owned(), subject, case, run, found, of: self.origin.clone() })
    }

    /// Whether a subject can be run; if not, says so in capitals.
    fn can_run(&self, subject: Subject) -> bool {
        match subject.missing(&self.places) {
            None => true,
            Some(why) => {
                say(&format!("NOT RUN: {}: {why}", subject.name()));
                false
            }
        }
    }
}

/// Tells how it goes; nobody has to listen.
fn say(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Processors, kernel, memory, compiler: what the times depend on.
fn machine() -> String {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let named = |name: &str| {
        let line = cpu.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let processors = cpu.lines().filter(|line| line.starts_with("processor")).count();
    let kib = read("/proc/meminfo").split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok());
    let memory = kib.unwrap_or_default() / 1_048_576.0;
    let kernel = read("/proc/sys/kernel/osrelease");
    let rustc = Command::new("rustc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let rustc = String::from_utf8_lossy(&rustc).split(' ').nth(1).unwrap_or("?").to_owned();
    let model = named("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{processors} × {model}, {memory:.0} GiB, Linux {}, rustc {rustc}", kernel.trim())
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
