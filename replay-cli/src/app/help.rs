//! The overview of the commands: grouped by purpose, those of every day first.

use super::{App, style};
use crate::layout::hanging;
use clap::{Command, CommandFactory};
use std::ffi::OsString;

/// Columns of the longest name of a command.
const NAME: usize = 11;

/// The most used commands: what `-h` shows, on one screen.
const DAILY: [&str; 13] = [
    "import", "sessions", "search", "replay", "usage", "serve", "why", "report", "verify", "export", "record", "run",
    "chat",
];

/// A group of commands, in the order in which they are shown.
struct Group {
    title: &'static str,
    /// The command that they are below, if one.
    below: Option<&'static str>,
    names: &'static [&'static str],
}

const fn group(title: &'static str, names: &'static [&'static str]) -> Group {
    Group { title, below: None, names }
}

const GROUPS: [Group; 10] = [
    group("Every day", &["import", "sessions", "search", "replay", "usage"]),
    group("Look at a session", &["serve", "tui", "transcript", "log", "show", "tree", "audit", "report", "sql"]),
    group(
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
        ],
    ),
    group("Work with a model", &["run", "chat", "acp", "record", "mcp", "models", "config"]),
    group("Change a session", &["fork", "revert", "session"]),
    Group {
        title: "annals session",
        below: Some("session"),
        names: &["move", "inbox", "title", "pin", "unpin", "compact"],
    },
    group("Remove texts", &["erase", "forget", "retention"]),
    group("Prove and maintain", &["verify", "export", "copy", "store", "sign", "prove", "witness", "doctor", "index"]),
    group("Repeat and test", &["rerun", "fixture", "dev", "help"]),
    Group { title: "annals dev", below: Some("dev"), names: &["lab", "scenario", "certify", "schema", "completions"] },
];

/// The command line without the names that commands had before.
pub(super) fn with_new_names() -> Command {
    let command = App::command();
    let moved: Vec<String> = GROUPS
        .iter()
        .filter(|group| group.below.is_some())
        .flat_map(|group| group.names.iter().map(|name| (*name).to_owned()))
        .collect();
    command.mut_subcommands(|subcommand| {
        let is_moved = moved.iter().any(|name| name == subcommand.get_name());
        if is_moved { subcommand.hide(true) } else { subcommand }
    })
}

/// Whether a command line asks for all commands, not for those of every day.
pub(super) fn is_long(args: &[OsString]) -> bool {
    args.iter().skip(1).any(|arg| arg == "--help" || arg == "help")
}

/// The command line with the commands in groups. Clap lists commands in one group only, so its list is hidden.
pub(super) fn grouped(is_long: bool) -> Command {
    // Where there is a terminal, clap wraps for it even what goes elsewhere.
    grouped_for(style(true).width, is_long)
}

fn grouped_for(width: usize, is_long: bool) -> Command {
    let command = App::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let listed = |title: &str, parent: &Command, names: &[&str]| {
        let mut list = format!("{header}{title}:{header:#}\n");
        for name in names {
            let about = match parent.find_subcommand(name) {
                Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
                None if *name == "help" => "Show the help of a command".to_owned(),
                // Of a feature that this build lacks.
                None => continue,
            };
            let line = hanging(&format!("  {name:<NAME$}  {about}"), NAME + 4, width);
            let about = line.get(NAME + 2..).unwrap_or_default();
            list.push_str(&format!("  {literal}{name:<NAME$}{literal:#}{about}\n"));
        }
        list
    };
    let (list, rest) = if is_long {
        let lists = GROUPS.iter().map(|group| {
            let parent = group.below.and_then(|name| command.find_subcommand(name)).unwrap_or(&command);
            listed(group.title, parent, group.names)
        });
        (lists.collect::<Vec<_>>().join("\n"), "{all-args}")
    } else {
        (listed("Every day", &command, &DAILY), SHORT_END)
    };
    command
        .override_usage("annals [OPTIONS] <COMMAND>")
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\n{rest}"))
        .mut_subcommands(|subcommand| subcommand.hide(true))
}

/// How the short help ends.
const SHORT_END: &str = "\
`annals` alone imports what it finds and lets you pick a session.
All commands and options: annals --help
One command:              annals COMMAND --help";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group_and_its_summary_on_one_line_of_80_columns() {
        let command = with_new_names();
        let shown = |of: &'static str| command.find_subcommand(of).into_iter().flat_map(Command::get_subcommands);
        let top: Vec<&Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
        let below: Vec<&Command> = shown("session").chain(shown("dev")).collect();
        let known: BTreeSet<&str> = top.iter().chain(&below).map(|one| one.get_name()).chain(["help"]).collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.names.iter().copied()).collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(listed.len(), known.len(), "no command is listed twice");
        let help = grouped_for(80, true).render_help().to_string();
        for subcommand in top.into_iter().chain(below) {
            let name = subcommand.get_name();
            let about = subcommand.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {name:<NAME$}  {about}");
            assert!(help.lines().any(|shown| shown == line), "{line} in\n{help}");
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn the_short_help_fits_on_24_lines_and_leads_to_the_rest() {
        let help = grouped_for(80, false).render_help().to_string();
        assert!(help.lines().count() <= 24 && help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(
            DAILY.iter().all(|name| help.contains(&format!("  {name} "))) && help.contains("annals --help"),
            "{help}"
        );
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
