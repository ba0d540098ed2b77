//! The report: what the results say, as tables in `docs/benchmarks.md`.

mod bars;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::io;

use crate::run::{Part, Places, Results, Row};

/// Between these lines the document is written here.
const BEGIN: &str = "<!-- results: begin (written by `make bench`) -->";
const END: &str = "<!-- results: end -->";

/// Writes the tables into the document.
pub(crate) fn write(places: &Places) -> io::Result<()> {
    let rows = Results::at(places.results(false)).read()?;
    if rows.is_empty() {
        return Err(io::Error::other("there are no results; `bench run` makes them"));
    }
    let file = places.document();
    let document = fs::read_to_string(&file)?;
    let text = replaced(&document, &text(&rows)).ok_or_else(|| {
        io::Error::other(format!("{} has no lines `{BEGIN}` and `{END}` to write between", file.display()))
    })?;
    fs::write(file, text)
}

/// The document with other results.
fn replaced(document: &str, results: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", results.trim()))
}

/// All tables.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = bars::text(rows);
    for part in Part::ALL {
        let of_part: Vec<&Row> = rows.iter().filter(|row| row.part == part.name()).collect();
        let Some(first) = of_part.first() else {
            let _ = writeln!(text, "\n### {}\n\nNOT RUN.", table::title(part));
            continue;
        };
        let origin = &first.of;
        let _ = writeln!(text, "\n### {}\n", table::title(part));
        let _ = writeln!(text, "`{}`, {}, {}\n", origin.command, origin.date, origin.machine);
        let _ = writeln!(text, "{}", table::of(part, &of_part));
        if let Some(ratios) = table::ratios(part, &of_part) {
            let _ = writeln!(text, "\n{ratios}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_written_anew() {
        let document = format!("# Title\n\n{BEGIN}\n\nold\n\n{END}\n\nafter\n");
        assert_eq!(replaced(&document, "\nnew\n").unwrap(), format!("# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"));
        assert_eq!(replaced("# Title\n", "new"), None);
    }
}
