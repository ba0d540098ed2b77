//! Counts against those that are committed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many percent more, or less, than committed are taken without a word.
pub const TOLERANCE: f64 = 5.0;

const HEAD: &str = "# Instructions a message on the services' hot paths, by callgrind. `make bench-guard UPDATE=1` writes this file.\n";

/// Instructions a message by hot path, and the compiler that made the code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Its release and target, such as `rustc 1.95.0 (59807616e 2026-04-14), x86_64-unknown-linux-gnu`.
    pub compiler: String,
    /// Instructions a message by the path's name.
    pub instructions: BTreeMap<String, u64>,
}

/// What a comparison came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// A line a path, and what to do.
    pub text: String,
    /// No path has risen by more than [`TOLERANCE`], and the same paths are counted and committed.
    pub holds: bool,
}

impl Counts {
    /// From the committed file.
    ///
    /// # Errors
    /// A line that is neither a comment, the compiler, nor a name and a count above 0; a name that comes twice.
    pub fn from_file(text: &str) -> Result<Self, String> {
        let mut counts = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(compiler) = line.strip_prefix("made with ") {
                compiler.clone_into(&mut counts.compiler);
                continue;
            }
            let entry = line.split_once(' ').and_then(|(name, count)| Some((name, count.trim().parse().ok()?)));
            let entry = entry.filter(|(_, count)| *count > 0);
            let (name, count) = entry.ok_or_else(|| format!("{line:?} is not a path and its count"))?;
            if counts.instructions.insert(name.to_owned(), count).is_some() {
                return Err(format!("{name} is there twice"));
            }
        }
        Ok(counts)
    }

    /// The file to commit.
    #[must_use]
    pub fn to_file(&self) -> String {
        let mut text = format!("{HEAD}made with {}\n", self.compiler);
        for (name, count) in &self.instructions {
            let _ = writeln!(text, "{name} {count}");
        }
        text
    }

    /// Holds these counts against the committed ones.
    #[must_use]
    pub fn against(&self, committed: &Self) -> Verdict {
        let (mut text, mut holds, mut fell) = (String::new(), !self.instructions.is_empty(), false);
        for (name, old) in &committed.instructions {
            let Some(new) = self.instructions.get(name) else {
                holds = false;
                let _ = writeln!(text, "{name:<28} {old:>6} -> nothing: it is committed, and was not counted");
                continue;
            };
            // Percent, exact for any count that a path may have.
            let change = (*new as f64 - *old as f64) * 100.0 / *old as f64;
            holds &= change <= TOLERANCE;
            fell |= change < -TOLERANCE;
            let word = match change {
                change if change > TOLERANCE => "  TOO MANY",
                change if change < -TOLERANCE => "  take it down",
                _ => "",
            };
            let _ = writeln!(text, "{name:<28} {old:>6} -> {new:>6} {change:>+6.1} %{word}");
        }
        for (name, new) in self.instructions.iter().filter(|(name, _)| !committed.instructions.contains_key(*name)) {
            holds = false;
            let _ = writeln!(text, "{name:<28} nothing -> {new}: it was counted, and is not committed");
        }
        if !holds {
            let _ =
                writeln!(text, "A path takes over {TOLERANCE} % more instructions than committed, or is not in both.");
            if self.compiler != committed.compiler {
                let (theirs, own) = (&committed.compiler, &self.compiler);
                let _ = writeln!(text, "made with {theirs}, this is {own}: look, then UPDATE=1");
            }
            text += "If it is meant: `make bench-guard UPDATE=1`, and commit the counts with the reason.\n";
        } else if fell {
            text += "Fewer than committed: `make bench-guard UPDATE=1`, so that it stays so.\n";
        }
        Verdict { text, holds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        let instructions = pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Counts { compiler: "rustc 1.95.0, x86_64".to_owned(), instructions }
    }

    #[test]
    fn six_percent_more_fails_with_path_and_numbers() {
        let verdict = counts(&[("one", 2_120), ("two", 70)]).against(&counts(&[("one", 2_000), ("two", 70)]));
        assert!(!verdict.holds);
        let lines: Vec<_> = verdict.text.lines().collect();
        assert_eq!(lines[0], "one                            2000 ->   2120   +6.0 %  TOO MANY");
        assert_eq!(lines[1], "two                              70 ->     70   +0.0 %");
        assert_eq!(lines[2], "A path takes over 5 % more instructions than committed, or is not in both.");
        assert_eq!(lines[3], "If it is meant: `make bench-guard UPDATE=1`, and commit the counts with the reason.");
    }

    #[test]
    fn four_percent_more_passes_and_so_does_five() {
        for new in [2_080, 2_100] {
            let verdict = counts(&[("one", new)]).against(&counts(&[("one", 2_000)]));
            assert!(verdict.holds && verdict.text.lines().count() == 1, "{}", verdict.text);
        }
        assert!(!counts(&[("one", 2_101)]).against(&counts(&[("one", 2_000)])).holds);
    }

    #[test]
    fn six_percent_less_passes_and_asks_for_lower_counts() {
        let verdict = counts(&[("one", 1_880)]).against(&counts(&[("one", 2_000)]));
        assert!(verdict.holds);
        assert_eq!(
            verdict.text,
            "one                            2000 ->   1880   -6.0 %  take it down\n\
             Fewer than committed: `make bench-guard UPDATE=1`, so that it stays so.\n"
        );
    }

    #[test]
    fn a_path_in_one_of_them_alone_fails_and_so_does_no_path_at_all() {
        let verdict = counts(&[("new", 10)]).against(&counts(&[("gone", 20)]));
        assert!(!verdict.holds);
        assert!(
            verdict.text.contains("gone                             20 -> nothing: it is committed"),
            "{}",
            verdict.text
        );
        assert!(
            verdict.text.contains("new                          nothing -> 10: it was counted"),
            "{}",
            verdict.text
        );
        assert!(!counts(&[]).against(&counts(&[])).holds);
    }

    #[test]
    fn another_compiler_is_named_where_it_fails_and_excuses_nothing() {
        let mut committed = counts(&[("one", 2_000)]);
        committed.compiler = "rustc 1.94.1, x86_64".to_owned();
        let verdict = counts(&[("one", 2_120)]).against(&committed);
        assert!(!verdict.holds);
        let named = "made with rustc 1.94.1, x86_64, this is rustc 1.95.0, x86_64: look, then UPDATE=1\n";
        assert!(verdict.text.contains(named), "{}", verdict.text);
        assert!(counts(&[("one", 2_000)]).against(&committed).holds);
    }

    #[test]
    fn a_file_reads_as_it_was_written_and_what_is_no_count_is_refused() {
        let counts = counts(&[("a", 1), ("b", 22)]);
        assert_eq!(Counts::from_file(&counts.to_file()), Ok(counts));
        for (text, error) in [
            ("a one", "\"a one\" is not a path and its count"),
            ("a 0", "\"a 0\" is not a path and its count"),
            ("a", "\"a\" is not a path and its count"),
            ("a 1\na 2", "a is there twice"),
        ] {
            assert_eq!(Counts::from_file(text), Err(error.to_owned()));
        }
    }
}
