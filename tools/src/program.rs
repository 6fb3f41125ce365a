//! Programs of the configuration that are given JSON and print text: tools, hooks, context sources, searches.

use super::git_environment::inherited_git_settings;
use super::process_group::ProcessGroup;
use super::variables::is_shown;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// How much of each output is read, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// How long the pipes of a program that has ended are still read: a process that left its group may hold them open.
const DRAIN: Duration = Duration::from_millis(500);

/// A program and how it is run. It sees the usual environment variables and those that are passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalProgram {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Further environment variables.
    pub environment: Vec<(String, String)>,
    /// How long it may take.
    pub limit: Duration,
}

/// What a program printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// On stdout.
    pub stdout: String,
    /// On stderr.
    pub stderr: String,
    /// Its exit status, if it ended by itself.
    pub exit: Option<i32>,
}

/// A program did not end with a result.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It took too long.
    #[error("{program} did not end within {ms} ms")]
    Late {
        /// The program.
        program: String,
        /// The limit in milliseconds.
        ms: u128,
    },
}

impl ExternalProgram {
    /// Runs it in a directory with an input, and waits for its end. It ends, with all that it started, when this is dropped.
    ///
    /// # Errors
    /// When it cannot be started, or takes too long.
    pub async fn run(&self, directory: &std::path::Path, input: &str) -> Result<ProgramOutput, ProgramError> {
        let program = self.words.first().cloned().unwrap_or_default();
        match timeout(self.limit, self.ran(directory.to_owned(), input)).await {
            Ok(ran) => ran.map_err(|source| ProgramError::Start { program, source }),
            Err(_) => Err(ProgramError::Late { program, ms: self.limit.as_millis() }),
        }
    }

    async fn ran(&self, directory: PathBuf, input: &str) -> io::Result<ProgramOutput> {
        let (program, arguments) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory);
        for (variable, _) in std::env::vars_os() {
            if !is_shown(&variable.to_string_lossy(), &[]) {
                command.env_remove(variable);
            }
        }
        command.envs(inherited_git_settings(|variable| is_shown(variable, &[])));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = ProcessGroup::start(&mut command)?;
        let (mut stdin, stdout, stderr) =
            group.pipes().ok_or_else(|| io::Error::other("its pipes could not be opened"))?;
        let writing = async move {
            // A program need not read its input.
            drop(stdin.write_all(input.as_bytes()).await);
        };
        let (mut printed, mut errors) = (Vec::new(), Vec::new());
        let status = {
            let reading = async {
                tokio::join!(read(stdout, &mut printed), read(stderr, &mut errors), writing);
            };
            tokio::pin!(reading);
            tokio::select! {
                () = &mut reading => group.leader().await?,
                status = group.leader() => {
                    drop(timeout(DRAIN, reading).await);
                    status?
                }
            }
        };
        group.end().await;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
        Ok(ProgramOutput { stdout: text(&printed), stderr: text(&errors), exit: status.code() })
    }
}

async fn read(pipe: impl AsyncRead + Unpin, into: &mut Vec<u8>) {
    let mut pipe = pipe.take(LARGEST);
    if let Err(error) = pipe.read_to_end(into).await {
        tracing::debug!(%error, "the output of a program could not be read");
    }
    // More is read and left out, so that the program does not wait.
    drop(tokio::io::copy(&mut pipe.into_inner(), &mut tokio::io::sink()).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(script: &str) -> ExternalProgram {
        ExternalProgram {
            words: ["sh", "-c", script].map(str::to_owned).to_vec(),
            environment: Vec::new(),
            limit: Duration::from_secs(30),
        }
    }

    #[tokio::test]
    async fn a_program_reads_its_input_and_says_how_it_ended() -> Result<(), Box<dyn std::error::Error>> {
        let here = std::env::temp_dir();
        let output = program("cat; echo trouble >&2; exit 3").run(&here, "{\"a\":1}").await?;
        assert_eq!((output.stdout.as_str(), output.stderr.as_str(), output.exit), ("{\"a\":1}", "trouble\n", Some(3)));
        let unread = program("true").run(&here, &"x".repeat(1 << 20)).await?;
        assert_eq!(unread.exit, Some(0));
        Ok(())
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_ended() {
        let slow = ExternalProgram { limit: Duration::from_millis(50), ..program("sleep 60") };
        let late = slow.run(&std::env::temp_dir(), "").await.map_err(|error| error.to_string());
        assert_eq!(late, Err("sh did not end within 50 ms".to_owned()));
        let absent = ExternalProgram { words: vec!["/no/such/program".into()], ..slow };
        let error = absent.run(&std::env::temp_dir(), "").await.map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.starts_with("/no/such/program could not be started")));
    }
}
