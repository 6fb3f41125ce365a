//! A home, a project and what lies outside of it, watched.

use annals_sandbox::SandboxPolicy;
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// What must never be read.
const SECRET: &str = "S3CRET-KEY";

pub struct World {
    folder: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    abstract_name: UnixListener,
    victim: std::cell::RefCell<Child>,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().canonicalize()?;
        for path in ["home/.ssh", "outside/dir", "project/sub", "project/.annals", "tmp"] {
            fs::create_dir_all(root.join(path))?;
        }
        for (path, text) in [
            ("home/.ssh/id_ed25519", SECRET),
            ("home/.netrc", SECRET),
            ("home/notes.txt", "a note\n"),
            ("outside/file", "as it was\n"),
            ("outside/held", ""),
            ("project/main.c", "int main(){}\n"),
            ("project/.annals/config.toml", "agent = \"build\"\n"),
        ] {
            fs::write(root.join(path), text)?;
        }
        for arguments in [&["init", "-q"][..], &["add", "main.c"]] {
            let git = Command::new("git").args(arguments).current_dir(root.join("project")).status()?;
            assert!(git.success());
        }
        let name = format!("annals-{}", folder.path().display());
        let abstract_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
        let path = UnixListener::bind(root.join("outside/socket"))?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        path.set_nonblocking(true)?;
        abstract_name.set_nonblocking(true)?;
        let held = File::options().append(true).open(root.join("outside/held"))?;
        let mut sleep = Command::new("sleep");
        sleep.arg("100").env("VICTIM_KEY", SECRET).stdin(Stdio::null()).stdout(held).current_dir(root.join("outside"));
        let victim = sleep.spawn()?.into();
        let mut world = Self { folder, tcp, udp, path, abstract_name, victim, before: BTreeMap::new() };
        world.before = world.now()?;
        Ok(world)
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap_or_default().join(path)
    }

    /// The usual policy, but with a temporary folder of its own: the system's contains the world, wherever the checkout is.
    pub fn policy(&self) -> SandboxPolicy {
        let obeyed = [".annals", ".vscode", ".envrc", ".mcp.json", ".husky"];
        let mut policy = SandboxPolicy::of_project(self.at("project"), Some(&self.at("home")), &obeyed);
        policy.write.retain(|path| !self.at("").starts_with(path));
        policy.write.push(self.at("tmp"));
        policy
    }

    /// Runs words in the project; gives what they wrote.
    pub fn run(&self, words: &[OsString]) -> io::Result<String> {
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.at("project")).stdin(Stdio::null());
        command.env("HOME", self.at("home")).env("OUT", self.at("outside")).env("PROJECT", self.at("project"));
        command.env("TMPDIR", self.at("tmp"));
        command.env("VICTIM", self.victim.borrow().id().to_string());
        command.env("TCP", self.tcp.local_addr()?.port().to_string());
        command.env("UDP", self.udp.local_addr()?.port().to_string());
        command.env("ABSTRACT", format!("annals-{}", self.folder.path().display()));
        let output = command.output()?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    }

    /// What a person does next, or the prompt of a shell: what git runs then, runs outside of the sandbox.
    pub fn look_with_git(&self) -> io::Result<()> {
        let status = "git status > /dev/null 2>&1; git diff > /dev/null 2>&1; true";
        self.run(&["/bin/bash".into(), "-c".into(), status.into()]).map(drop)
    }

    /// What a command changed, read, reached or stopped.
    pub fn escaped(&self, output: &str) -> Option<String> {
        let mut buffer = [0; 16];
        let ended = self.victim.borrow_mut().try_wait().ok().flatten().is_some();
        let now = self.now().unwrap_or_default();
        let changed = self.before.keys().chain(now.keys()).find(|path| self.before.get(*path) != now.get(*path));
        let reached = self.tcp.accept().is_ok()
            || self.udp.recv(&mut buffer).is_ok()
            || self.path.accept().is_ok()
            || self.abstract_name.accept().is_ok();
        match (output.contains(SECRET), reached, ended) {
            (true, ..) => Some("read a secret".into()),
            (_, true, _) => Some("reached a server".into()),
            (.., true) => Some("ended a process".into()),
            _ => changed.map(|path| format!("changed {}", path.display())),
        }
    }

    /// Every path that a command must leave alone, with its content.
    fn now(&self) -> io::Result<BTreeMap<PathBuf, String>> {
        let mut all = BTreeMap::new();
        for root in [
            "home",
            "outside",
            "project/.git/hooks",
            "project/.git/config",
            "project/.git/commondir",
            "project/.git/info/attributes",
            "project/.annals",
            "project/.vscode",
            "project/.envrc",
            "project/.mcp.json",
            "project/.husky",
        ] {
            list(&self.at(root), &mut all)?;
        }
        Ok(all)
    }
}

fn list(path: &Path, all: &mut BTreeMap<PathBuf, String>) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    let content = if found.is_file() { fs::read(path)? } else { format!("{:?}", found.file_type()).into_bytes() };
    all.insert(path.to_owned(), String::from_utf8_lossy(&content).into_owned());
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            list(&entry?.path(), all)?;
        }
    }
    Ok(())
}

impl Drop for World {
    fn drop(&mut self) {
        let mut victim = self.victim.borrow_mut();
        let _ = victim.kill();
        let _ = victim.wait();
    }
}
