//! Runs OpenSSH's `ssh-keygen`, as git does for signed commits: it knows keys in files, in agents and on security keys, and asks for
//! passphrases on the terminal of the user. No secret passes through this process, and none is an argument.

use super::ssh::{NAMESPACE, SshPublicKey};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

const PROGRAM: &str = "ssh-keygen";

/// How long to wait for a signature when the user is not asked: a security key would wait for a touch.
const UNATTENDED: Duration = Duration::from_secs(20);

/// How often it is looked whether a signature is there.
const POLL: Duration = Duration::from_millis(5);

/// What ssh-keygen says of a passphrase that was not given or is wrong.
const WRONG_PASSPHRASE: &str = "incorrect passphrase supplied";

/// What it says of a signature that is not valid.
const NOT_VALID: &str = "Signature verification failed";

/// What versions before OpenSSH 8.2 say of the options.
const UNKNOWN_OPTION: [&str; 4] =
    ["unknown option", "illegal option", "invalid option", "Unsupported operation for -Y"];

/// `ssh-keygen` gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SshKeygenError {
    /// The program is not there.
    #[error("`ssh-keygen` is not installed: install OpenSSH 8.2 or newer")]
    Missing,
    /// The program does not know this.
    #[error("`ssh-keygen` is too old to sign and verify texts: install OpenSSH 8.2 or newer")]
    TooOld,
    /// The passphrase of the key was not given, or is wrong.
    #[error("the passphrase was not given or is wrong")]
    Passphrase,
    /// The program refused.
    #[error("ssh-keygen: {0}")]
    Refused(String),
    /// The program waits for something.
    #[error("ssh-keygen did not sign within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The program cannot be run, or a temporary file not be written.
    #[error("ssh-keygen cannot be run: {0}")]
    Run(#[from] io::Error),
}

/// Signs a text with the key in a file, of which `public` is the public part: a secret key, or the `.pub` file of a key in an agent
/// or on a security key. A passphrase is asked for only if `asks`. Returns the content of a `.sig` file.
pub(super) fn sign(key: &Path, public: &SshPublicKey, text: &str, asks: bool) -> Result<String, SshKeygenError> {
    let mut command = Command::new(PROGRAM);
    command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key);
    // It asks for a touch on stderr.
    let shows = asks && public.is_on_security_key();
    command.stderr(if shows { Stdio::inherit() } else { Stdio::piped() });
    if !asks {
        // It asks this program, which answers nothing, instead of the terminal.
        command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "/bin/false");
    }
    let mut child = start(command, text)?;
    if !asks {
        wait(&mut child, UNATTENDED)?;
    }
    let output = child.wait_with_output()?;
    match (output.status.success(), shows) {
        (true, _) => {
            String::from_utf8(output.stdout).map_err(|_| SshKeygenError::Refused("it wrote no text".to_owned()))
        }
        (false, true) => Err(SshKeygenError::Refused("it did not sign, for the reason above".to_owned())),
        (false, false) => Err(refused(&output)),
    }
}

/// Whether the content of a `.sig` file is a valid signature of a key over a text.
pub(super) fn verify(key: &SshPublicKey, text: &str, signature: &str) -> Result<bool, SshKeygenError> {
    const SIGNER: &str = "signer";
    let signers = private_file(&format!("{SIGNER} {}\n", key.to_text()))?;
    let signature = private_file(signature)?;
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "verify", "-n", NAMESPACE, "-I", SIGNER, "-f"]).arg(signers.path());
    command.arg("-s").arg(signature.path()).stderr(Stdio::piped());
    let output = start(command, text)?.wait_with_output()?;
    match output.status.success() {
        true => Ok(true),
        false if String::from_utf8_lossy(&output.stderr).contains(NOT_VALID) => Ok(false),
        false => Err(refused(&output)),
    }
}

/// A file that only the user can read, and that is removed when it is dropped.
fn private_file(content: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("annals-")?;
    file.write_all(content.as_bytes())?;
    Ok(file)
}

fn start(mut command: Command, input: &str) -> Result<Child, SshKeygenError> {
    let started = command.env("LC_ALL", "C").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SshKeygenError::Missing,
        _ => SshKeygenError::Run(error),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        // When it ends early, its output says why.
        drop(stdin.write_all(input.as_bytes()));
    }
    Ok(child)
}

/// Waits for the end; ends the program itself when that takes too long.
fn wait(child: &mut Child, limit: Duration) -> Result<(), SshKeygenError> {
    let deadline = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(SshKeygenError::TimedOut(limit));
        }
        sleep(POLL);
    }
    Ok(())
}

/// Why it failed, in one line.
fn refused(output: &Output) -> SshKeygenError {
    let stderr = String::from_utf8_lossy(&output.stderr);
    if UNKNOWN_OPTION.iter().any(|option| stderr.contains(option)) {
        return SshKeygenError::TooOld;
    }
    if stderr.contains(WRONG_PASSPHRASE) {
        return SshKeygenError::Passphrase;
    }
    // A frame of `@` is around its warnings.
    let lines = stderr.lines().map(|line| line.trim_matches(['@', ' '])).filter(|line| !line.is_empty());
    match lines.collect::<Vec<_>>().join("; ") {
        reason if reason.is_empty() => SshKeygenError::Refused(format!("it ended with {}", output.status)),
        reason => SshKeygenError::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_waits_is_ended_and_nothing_is_left_of_it() -> Result<(), SshKeygenError> {
        let mut command = Command::new("sleep");
        command.arg("600").stderr(Stdio::null());
        let mut child = start(command, "")?;
        let limit = Duration::from_millis(20);
        assert!(matches!(wait(&mut child, limit), Err(SshKeygenError::TimedOut(found)) if found == limit));
        assert!(child.try_wait()?.is_some());
        Ok(())
    }

    #[test]
    fn temporary_files_are_the_users_alone_and_are_removed() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let file = private_file("text")?;
        let path = file.path().to_owned();
        assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(!path.exists());
        Ok(())
    }
}
