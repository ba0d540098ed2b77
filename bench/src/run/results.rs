//! Results: a line of JSON for each run, from which the report is made.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One run of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The part of the benchmark, such as `producer`.
    pub(crate) part: String,
    /// What was measured.
    pub(crate) subject: String,
    /// The case: `64 connections, 100 B`.
    pub(crate) case: String,
    /// Which of the runs, from 1. Runs with the same number were made one after the other.
    pub(crate) run: u32,
    /// What was found, by name; units are in the names.
    pub(crate) found: BTreeMap<String, f64>,
    /// The command, the machine, the date.
    pub(crate) of: Origin,
}

/// Where a result comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) command: String,
    pub(crate) machine: String,
    pub(crate) date: String,
}

/// The file of results.
#[derive(Debug, Clone)]
pub(crate) struct Results {
    file: PathBuf,
}

impl Results {
    pub(crate) fn at(file: PathBuf) -> Self {
        Self { file }
    }

    /// All that are there.
    pub(crate) fn read(&self) -> io::Result<Vec<Row>> {
        let text = match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::from)).collect()
    }

    /// Removes what an earlier run of this part has left.
    pub(crate) fn forget(&self, part: &str) -> io::Result<()> {
        let mut text = String::new();
        for row in self.read()?.into_iter().filter(|row| row.part != part) {
            text.push_str(&serde_json::to_string(&row)?);
            text.push('\n');
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.file, text)
    }

    pub(crate) fn add(&self, row: &Row) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        writeln!(file, "{}", serde_json::to_string(row)?)
    }
}

/// A middle value and how far the others lie from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    pub(crate) runs: usize,
}

impl Spread {
    /// Of at least one value.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            1 => *values.get(middle)?,
            _ => (values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0,
        };
        Some(Self { median, least: *values.first()?, most: *values.last()?, runs: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_the_two_in_the_middle() {
        let spread = Spread::of(vec![5.0, 1.0, 3.0]).unwrap();
        assert_eq!(spread, Spread { median: 3.0, least: 1.0, most: 5.0, runs: 3 });
        assert_eq!(Spread::of(vec![4.0, 1.0, 3.0, 2.0]).unwrap().median, 2.5);
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
