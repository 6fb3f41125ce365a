//! A service of the user's own that imports what agents write, from login on.

use super::Args;
use crate::command_context::CommandContext;
use crate::error::CliError;
use annals_host::StoreChoice;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Which program runs services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ServiceKind {
    /// A systemd user unit.
    Systemd,
    /// A launchd property list.
    Launchd,
}

impl ServiceKind {
    /// The kind of this machine, as a value of the option.
    pub const HERE: &str = if cfg!(target_os = "macos") { "launchd" } else { "systemd" };
}

/// Prints the service, headed by where it belongs and how it is started.
///
/// # Errors
/// When this program does not know its own path, or the output refuses.
pub fn write(kind: ServiceKind, args: &Args, cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
    let program = std::env::current_exe()?;
    let words = words(&program, args, cli.named.as_deref(), &cli.environment.directory);
    let text = match kind {
        ServiceKind::Systemd => systemd(&words),
        ServiceKind::Launchd => launchd(&words),
    };
    Ok(out.write_all(text.as_bytes())?)
}

/// The words of the command that the service runs.
fn words(program: &Path, args: &Args, store: Option<&Path>, directory: &Path) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = vec![path(program), "import".to_owned(), "--follow".to_owned()];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| [name.to_owned(), value]).into_iter().flatten());
    };
    let absolute = |store: &Path| -> PathBuf {
        if StoreChoice::names_cluster(store.as_os_str()) { store.to_owned() } else { directory.join(store) }
    };
    option("--store", store.map(|store| path(&absolute(store))));
    option("--agent", args.agent.clone());
    for (name, wanted) in [("--redact", args.redact), ("--keep-originals", args.keep_originals)] {
        words.extend(wanted.then(|| name.to_owned()));
    }
    words
}

fn systemd(words: &[String]) -> String {
    // `%` begins a specifier of systemd, `$` a variable.
    let quoted = |word: &String| {
        let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        format!("\"{word}\"")
    };
    let command: Vec<String> = words.iter().map(quoted).collect();
    format!(
        "# Save as ~/.config/systemd/user/annals-import.service, then:\n\
         # systemctl --user daemon-reload && systemctl --user enable --now annals-import\n\
         [Unit]\n\
         Description=Import the sessions of coding agents into Annals\n\n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         RestartSec=60\n\n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

fn launchd(words: &[String]) -> String {
    let escaped = |word: &String| {
        let word = word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        format!("    <string>{word}</string>\n")
    };
    let command: String = words.iter().map(escaped).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- Save as ~/Library/LaunchAgents/annals.import.plist, then:\n     \
         launchctl load ~/Library/LaunchAgents/annals.import.plist -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  \
         <key>Label</key>\n  <string>annals.import</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{command}  </array>\n  \
         <key>RunAtLoad</key>\n  <true/>\n  \
         <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         </dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile() -> Vec<String> {
        let args = Args { redact: true, ..Args::default() };
        words(Path::new("/opt/a b%n/$HOME\"&<annals>"), &args, Some(Path::new("my store")), Path::new("/home/ada"))
    }

    #[test]
    fn every_word_of_the_command_stays_one_word() {
        let unit = systemd(&hostile());
        let line = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap_or_default();
        let wanted = "ExecStart=\"/opt/a b%%n/$$HOME\\\"&<annals>\" \"import\" \"--follow\" \"--store\" \
                      \"/home/ada/my store\" \"--redact\"";
        assert_eq!(line, wanted);
        let list = launchd(&hostile());
        assert!(list.contains("<string>/opt/a b%n/$HOME\"&amp;&lt;annals&gt;</string>"), "{list}");
        assert!(list.contains("<string>/home/ada/my store</string>"), "{list}");
    }
}
