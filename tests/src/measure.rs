//! What a process takes of the machine, as the kernel counts it.

use std::path::PathBuf;

use crate::process::Process;

/// A process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Open file descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Memory that is in use, in bytes (`VmRSS`).
    pub resident: usize,
}

impl Process {
    /// What it takes now. Panics if it does not run, or on a machine without `/proc`.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let id = self.id().expect("a process that runs");
        let folder = PathBuf::from(format!("/proc/{id}"));
        let descriptors = std::fs::read_dir(folder.join("fd")).expect("its descriptors").count();
        let status = std::fs::read_to_string(folder.join("status")).expect("its status");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
            number.unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        Usage { descriptors, threads: number("Threads"), resident: number("VmRSS") * 1_024 }
    }
}
