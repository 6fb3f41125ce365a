//! The overview of the commands: grouped by purpose, those of every day first.

use super::{App, style};
use crate::layout::hanging;
use clap::{Command, CommandFactory};

/// Columns of the longest name of a command.
const NAME: usize = 11;

/// The groups in the order in which they are shown.
const GROUPS: [(&str, &[&str]); 9] = [
    ("Every day", &["import", "sessions", "search", "replay", "usage"]),
    ("Look at a session", &["serve", "tui", "transcript", "log", "show", "tree", "audit", "report", "sql"]),
    (
        "Ask what the model saw",
        &[
            "history",
            "context",
            "requests",
            "why",
            "when",
            "diff",
            "files",
            "blame",
            "cache",
            "compactions",
            "bisect",
            "fold",
            "what-if",
            "tune",
        ],
    ),
    ("Work with a model", &["run", "chat", "acp", "record", "mcp", "models", "config"]),
    ("Change a session", &["fork", "revert", "move", "inbox", "title", "pin", "unpin", "compact"]),
    ("Remove texts", &["erase", "forget", "retention"]),
    ("Prove and maintain", &["verify", "export", "copy", "store", "sign", "prove", "witness", "doctor", "index"]),
    ("Repeat and test", &["rerun", "lab", "scenario", "fixture", "certify"]),
    ("Other", &["schema", "completions", "help"]),
];

/// The command line with the commands in groups. Clap lists commands in one group only, so its list is hidden.
pub(super) fn grouped() -> Command {
    // Where there is a terminal, clap wraps for it even what goes elsewhere.
    grouped_for(style(true).width)
}

fn grouped_for(width: usize) -> Command {
    let command = App::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut list = String::new();
    for (group, names) in GROUPS {
        list.push_str(&format!("{header}{group}:{header:#}\n"));
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
                None if *name == "help" => "Show the help of a command".to_owned(),
                // Of a feature that this build lacks.
                None => continue,
            };
            let line = hanging(&format!("  {name:<NAME$}  {about}"), NAME + 4, width);
            let about = line.get(NAME + 2..).unwrap_or_default();
            list.push_str(&format!("  {literal}{name:<NAME$}{literal:#}{about}\n"));
        }
        list.push('\n');
    }
    command
        .override_usage("annals [OPTIONS] <COMMAND>")
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{all-args}}"))
        .mut_subcommands(|subcommand| subcommand.hide(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group_and_its_summary_on_one_line_of_80_columns() {
        let command = App::command();
        let known: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "no command is listed twice");
        let help = grouped_for(80).render_help().to_string();
        for subcommand in command.get_subcommands() {
            let name = subcommand.get_name();
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {name:<NAME$}  {about}");
            assert!(help.lines().any(|shown| shown == line), "{line} in\n{help}");
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn options_of_every_command_are_described_in_the_imperative() {
        let third = |text: &str| {
            let first = text.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
            let is_verb = first.ends_with('s') && !["This", "Was", "As", "Files", "Seconds"].contains(&first);
            is_verb && !["Sessions", "Events", "Words"].contains(&first)
        };
        let command = App::command();
        let mut left: Vec<&Command> = vec![&command];
        while let Some(one) = left.pop() {
            left.extend(one.get_subcommands());
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!third(&about), "{}: {about}", one.get_name());
            for argument in one.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!third(&help), "{} {}: {help}", one.get_name(), argument.get_id());
            }
        }
    }
}
