//! Keys: named in the configuration, read just before they are sent, shown nowhere.

use std::env;
use std::fmt;
use std::process::Stdio;
use std::time::Duration;

/// Where a key comes from. It never holds the key itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A program and its arguments: what it prints, without the line end, is the key.
    Command(Vec<String>),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            // Arguments may be secret.
            Self::Command(words) => write!(f, "the command {}", words.first().map_or("", String::as_str)),
        }
    }
}

/// A key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiKey(String);

impl ApiKey {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// How long a command may take: some ask the user.
const PATIENCE: Duration = Duration::from_secs(120);

/// There is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyError {
    /// Set it.
    #[error("the environment variable {0} is not set: it must hold the key")]
    NotSet(String),
    /// Correct what gives it.
    #[error("{0} gives no key that can be sent: it must be one line of visible ASCII characters")]
    Unusable(KeySource),
    /// Correct the command.
    #[error("{source_of_it} could not be run: {why}")]
    NotRun {
        /// The command.
        source_of_it: KeySource,
        /// What the system says.
        why: std::io::ErrorKind,
    },
    /// Run it by hand to see why; its output is not shown, since it may hold the key.
    #[error("{source_of_it} ended with {how} instead of giving the key")]
    Failed {
        /// The command.
        source_of_it: KeySource,
        /// Its exit status.
        how: String,
    },
    /// The configuration names no program.
    #[error("the command that gives the key is empty")]
    NoCommand,
}

pub(super) async fn read(source: &KeySource) -> Result<ApiKey, KeyError> {
    let text = match source {
        KeySource::Env(name) => match env::var(name) {
            Ok(text) if text.trim().is_empty() => return Err(KeyError::NotSet(name.clone())),
            Ok(text) => text,
            Err(env::VarError::NotPresent) => return Err(KeyError::NotSet(name.clone())),
            Err(env::VarError::NotUnicode(_)) => return Err(KeyError::Unusable(source.clone())),
        },
        KeySource::Command(words) => run(source, words).await?,
    };
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(KeyError::Unusable(source.clone()));
    }
    Ok(ApiKey(text.into()))
}

async fn run(source: &KeySource, words: &[String]) -> Result<String, KeyError> {
    let (program, arguments) = words.split_first().ok_or(KeyError::NoCommand)?;
    let failed = |how: String| KeyError::Failed { source_of_it: source.clone(), how };
    let output = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(PATIENCE, output).await {
        Err(_) => return Err(failed(format!("no answer within {} s", PATIENCE.as_secs()))),
        Ok(Err(error)) => return Err(KeyError::NotRun { source_of_it: source.clone(), why: error.kind() }),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    String::from_utf8(output.stdout).map_err(|_| KeyError::Unusable(source.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> KeySource {
        KeySource::Command(words.iter().map(|word| (*word).into()).collect())
    }

    #[tokio::test]
    async fn a_key_comes_from_a_variable_or_a_command_without_its_line_end() -> Result<(), KeyError> {
        // Cargo sets it for tests.
        assert_eq!(read(&KeySource::Env("CARGO_PKG_NAME".into())).await?.expose(), "annals-providers");
        assert_eq!(read(&command(&["echo", "sk-planted"])).await?.expose(), "sk-planted");
        Ok(())
    }

    #[tokio::test]
    async fn a_missing_key_says_what_to_set_and_a_failing_command_does_not_show_what_it_said() {
        let failure =
            async |source| read(&source).await.map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        assert_eq!(
            failure(KeySource::Env("ANNALS_NO_SUCH_KEY".into())).await,
            "the environment variable ANNALS_NO_SUCH_KEY is not set: it must hold the key"
        );
        let shouts = "echo sk-planted; echo sk-planted >&2; exit 3";
        assert_eq!(
            failure(command(&["sh", "-c", shouts])).await,
            "the command sh ended with exit status: 3 instead of giving the key"
        );
        let two = "the command printf gives no key that can be sent: it must be one line of visible ASCII characters";
        assert_eq!(failure(command(&["printf", "sk-planted\nagain"])).await, two);
        assert_eq!(
            failure(command(&["/no/such/program"])).await,
            "the command /no/such/program could not be run: entity not found"
        );
        assert_eq!(failure(command(&[])).await, "the command that gives the key is empty");
    }

    #[tokio::test]
    async fn a_key_and_its_source_show_nothing_of_it() -> Result<(), KeyError> {
        let key = read(&command(&["echo", "sk-planted"])).await?;
        assert!(!format!("{key:?}").contains("planted"));
        assert_eq!(command(&["pass", "show", "private"]).to_string(), "the command pass");
        Ok(())
    }
}
