//! Where binaries, peers and results are.

use std::env;
use std::path::{Path, PathBuf};

/// Folders of a checkout that was built.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: PathBuf,
    /// The checkout that `REFERENCE_DIR` names, if it has what is measured.
    pub(crate) reference: Option<PathBuf>,
}

impl Places {
    /// Of this checkout.
    pub(crate) fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned();
        let reference = env::var_os("REFERENCE_DIR").map(PathBuf::from);
        let reference = reference.filter(|folder| folder.join("tenant-microservices/producer/producer.py").exists());
        Self { root, reference }
    }

    /// A release binary.
    pub(crate) fn release(&self, name: &str) -> PathBuf {
        self.root.join("target/release").join(name)
    }

    /// The sandbox as `make run` builds it.
    pub(crate) fn sandbox(&self) -> PathBuf {
        self.root.join("target/debug/sandbox")
    }

    /// What `make bench-peers` has made.
    pub(crate) fn cache(&self, name: &str) -> PathBuf {
        self.root.join(".cache/bench").join(name)
    }

    /// Our part of a peer: handler, configuration.
    pub(crate) fn peers(&self, name: &str) -> PathBuf {
        self.root.join("bench/peers").join(name)
    }

    /// All results so far, a line each. A quick look has its own.
    pub(crate) fn results(&self, quick: bool) -> PathBuf {
        self.root.join(if quick { "target/bench/quick.jsonl" } else { "target/bench/results.jsonl" })
    }

    /// What a subject has printed in its last run.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.root.join("target/bench/logs").join(format!("{}.log", name.replace([' ', '(', ')', ','], "-")))
    }

    /// The document with the tables.
    pub(crate) fn document(&self) -> PathBuf {
        self.root.join("docs/benchmarks.md")
    }
}
