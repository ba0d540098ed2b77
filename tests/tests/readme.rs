//! The table of settings in the README is what the services' `--help` says. `UPDATE_README=1` writes it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Command, CommandFactory};

const BEGIN: &str = "<!-- settings: begin (written by `make docs`) -->\n";
const END: &str = "<!-- settings: end -->";

struct Setting {
    default: String,
    /// The services' own words; one text where they agree.
    meanings: Vec<String>,
    services: Vec<&'static str>,
    place: usize,
}

fn services() -> [(&'static str, Command); 3] {
    [
        ("producer", producer::Settings::command()),
        ("consumer", consumer::Settings::command()),
        ("payments", payments::Settings::command()),
    ]
}

/// Every setting of every service, by its variable, in the order of `--help`.
fn settings() -> Vec<(String, Setting)> {
    let mut all: BTreeMap<String, Setting> = BTreeMap::new();
    for (service, command) in services() {
        for (place, argument) in command.get_arguments().enumerate() {
            let Some(variable) = argument.get_env() else { continue };
            let variable = variable.to_str().unwrap().to_owned();
            let help = argument.get_help().unwrap().to_string();
            let (meaning, noted) = help.split_once(" [default: ").map_or((help.as_str(), None), |(text, rest)| {
                (text, Some(rest.trim_end_matches(['.', ']']).to_owned()))
            });
            let default = argument.get_default_values().first().map(|value| format!("`{}`", value.to_str().unwrap()));
            let default = default.or(noted).unwrap_or_else(|| "required".to_owned());
            let values: Vec<_> =
                argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
            let values = if values.is_empty() || values == ["true", "false"] {
                String::new()
            } else {
                format!(" One of: {}.", values.join(", "))
            };
            let meaning = format!("{}.{values}", meaning.trim_end_matches('.'));
            let new = Setting { default: default.clone(), meanings: vec![], services: vec![], place };
            let setting = all.entry(variable.clone()).or_insert(new);
            assert_eq!(setting.default, default, "{variable} differs between services");
            if !setting.meanings.contains(&meaning) {
                setting.meanings.push(meaning);
            }
            setting.services.push(service);
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(_, setting)| (usize::MAX - setting.services.len(), setting.services[0], setting.place));
    all
}

fn table() -> String {
    let mut table = "\n| variable | default | of | meaning |\n|---|---|---|---|\n".to_owned();
    for (variable, setting) in settings() {
        let of = if setting.services.len() == 3 { "all".to_owned() } else { setting.services.join(", ") };
        writeln!(
            table,
            "| `{variable}` | {} | {of} | {} |",
            setting.default,
            setting.meanings.join(" ").replace('|', "\\|")
        )
        .unwrap();
    }
    table + "\n"
}

#[test]
fn the_readme_lists_every_setting_as_the_services_explain_it() {
    tests::document::hold_part("README.md", BEGIN, END, &table());
}
