//! Questions of models that wait in a terminal, answered by other processes: each has a socket in the store's folder, which gives the
//! question to each process that connects, and takes an answer. The first answer counts, also that of the terminal.
//!
//! ```text
//! tool ─► shared ─┬─► terminal
//!                 └─► a socket in STORE/asked ◄─ AskedPrompts: list, answer
//! ```
//!
//! A question is not recorded: the log has the call and its result. The questions of a process end with it.

use crate::socket;
use annals_core::SessionId;
use annals_runtime::host::{PromptSender, WaitingPrompt};
use annals_runtime::prompt::{UserPrompt, UserQuestion};
use annals_store::disk::StorePath;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// The folder of a store with the sockets.
const FOLDER: &str = "asked";
/// The longest line: a question has some 4,000 characters, an answer may be pasted.
const LINE: u64 = 1 << 20;
/// How long the other side may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Distinguishes the questions of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// An answer on its way to the process that waits.
#[derive(Debug, Serialize, Deserialize)]
struct Given {
    answer: Option<String>,
}

/// A question that another process asks.
#[derive(Clone, Debug)]
pub struct AskedPrompt {
    /// Its name, for [`AskedPrompts::answer`].
    pub name: String,
    /// The question.
    pub asked: UserQuestion,
}

/// Passes on the questions of `prompts`, and lets other processes answer them in the meantime.
pub fn shared(
    mut prompts: mpsc::UnboundedReceiver<WaitingPrompt>,
    store: &StorePath,
) -> mpsc::UnboundedReceiver<WaitingPrompt> {
    let (here, forwarded) = PromptSender::channel();
    let folder = store.join(FOLDER);
    tokio::spawn(async move {
        while let Some(mut waiting) = prompts.recv().await {
            let (here, folder) = (here.clone(), folder.clone());
            tokio::spawn(async move {
                let asked = waiting.asked.clone();
                let answer = tokio::select! {
                    answer = here.ask(asked.clone()) => answer,
                    answer = elsewhere(&folder, &asked) => answer,
                    () = waiting.withdrawn() => return,
                };
                waiting.answer(answer);
            });
        }
    });
    forwarded
}

/// Waits for the answer of another process; for ever where no socket can be made.
async fn elsewhere(folder: &StorePath, asked: &UserQuestion) -> Option<String> {
    let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let place = Placed { folder: folder.clone(), name };
    match (place.listen().await, serde_json::to_string(asked)) {
        (Ok(listener), Ok(question)) => first_answer(&listener, &question).await,
        (Err(error), _) => {
            tracing::debug!(%error, "this question can be answered in the terminal alone");
            std::future::pending().await
        }
        (_, Err(_)) => std::future::pending().await,
    }
}

/// A socket that is removed in the end.
struct Placed {
    folder: StorePath,
    name: String,
}

impl Placed {
    async fn listen(&self) -> io::Result<UnixListener> {
        let (folder, name) = (self.folder.clone(), self.name.clone());
        let listened = tokio::task::spawn_blocking(move || {
            let listener = socket::listen(&folder.reach()?, &name)?;
            listener.set_nonblocking(true)?;
            Ok::<_, io::Error>(listener)
        });
        UnixListener::from_std(listened.await.map_err(io::Error::other)??)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        let path = self.folder.join(&self.name);
        drop(path.reach().and_then(std::fs::remove_file));
    }
}

/// Shows the question to all who connect, until one of them answers.
async fn first_answer(listener: &UnixListener, question: &str) -> Option<String> {
    let (answered, mut answers) = mpsc::channel::<(Given, UnixStream)>(1);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let (answered, question) = (answered.clone(), format!("{question}\n"));
                    tokio::spawn(async move {
                        if let Ok(Some(given)) = tokio::time::timeout(PATIENCE, show(stream, &question)).await {
                            answered.send(given).await.ok();
                        }
                    });
                }
                // As when this process has too many files open.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            },
            answer = answers.recv() => if let Some((Given { answer }, mut stream)) = answer {
                // It counts whether or not the other side still listens.
                stream.write_all(b"taken\n").await.ok();
                return answer;
            },
        }
    }
}

/// Shows the question on one connection; what was answered on it.
async fn show(mut stream: UnixStream, question: &str) -> Option<(Given, UnixStream)> {
    stream.write_all(question.as_bytes()).await.ok()?;
    let line = line(&mut stream).await?;
    Some((serde_json::from_slice(&line).ok()?, stream))
}

async fn line(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(stream).take(LINE).read_until(b'\n', &mut line).await.ok()?;
    line.ends_with(b"\n").then_some(line)
}

/// The questions of models that wait in other processes which run sessions of a store. Looking at them writes nothing.
#[derive(Clone, Debug)]
pub struct AskedPrompts {
    folder: StorePath,
}

impl AskedPrompts {
    /// Those of a store.
    pub fn of(store: &StorePath) -> Self {
        Self { folder: store.join(FOLDER) }
    }

    /// What waits now, the oldest of each process first.
    pub async fn list(&self) -> Vec<AskedPrompt> {
        let folder = self.folder.clone();
        let names = tokio::task::spawn_blocking(move || folder.reach().map(|folder| socket::names(&folder))).await;
        let mut names = names.ok().and_then(Result::ok).unwrap_or_default();
        names.sort_by_key(|name| (name.len(), name.clone()));
        let mut found = Vec::new();
        for name in names {
            if let Some((asked, _)) = self.connect(&name).await {
                found.push(AskedPrompt { name, asked });
            }
        }
        found
    }

    /// Answers a question of a session; `None` says that there is no user to ask. Whether the answer was taken: another one may have been
    /// faster.
    pub async fn answer(&self, session: SessionId, name: &str, answer: Option<String>) -> bool {
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_name {
            return false;
        }
        let Some((asked, mut stream)) = self.connect(name).await else { return false };
        if asked.session != session {
            return false;
        }
        let Ok(mut given) = serde_json::to_vec(&Given { answer }) else { return false };
        given.push(b'\n');
        let taken = async {
            stream.write_all(&given).await.ok()?;
            line(&mut stream).await
        };
        matches!(tokio::time::timeout(PATIENCE, taken).await, Ok(Some(_)))
    }

    async fn connect(&self, name: &str) -> Option<(UserQuestion, UnixStream)> {
        let (folder, name) = (self.folder.clone(), name.to_owned());
        let connected = tokio::task::spawn_blocking(move || {
            let stream = socket::connect(&folder.reach()?, &name)?;
            stream.set_nonblocking(true)?;
            Ok::<_, io::Error>(stream)
        });
        let mut stream = UnixStream::from_std(connected.await.ok()?.ok()?).ok()?;
        let line = tokio::time::timeout(PATIENCE, line(&mut stream)).await.ok()??;
        Some((serde_json::from_slice(&line).ok()?, stream))
    }
}

#[cfg(test)]
mod tests;
