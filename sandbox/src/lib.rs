//! Confines a command: which files it reads and changes, whether it has a network, which system calls it may make
//! (`docs/sandbox.md`).
//!
//! A [`Sandbox`] starts a program (itself, usually) as a launcher, which restricts its own process and then becomes the
//! command: [`launch`]. So nothing here needs unsafe code, and the restrictions hold for the command and all that it starts.
//!
//! ```text
//! Sandbox::command ─► launcher ─► bubblewrap, where usable ─► launcher ─► Landlock ─► seccomp ─► the command
//! ```
//!
//! **Invariant**: a launcher that cannot enforce what the [`Sandbox`] was probed for does not start the command.

mod bubblewrap;
mod enforce;
#[cfg(target_os = "linux")]
mod filter;
mod git;
mod launch;
mod policy;
#[cfg(target_os = "linux")]
mod privileges;
mod protected;
#[cfg(target_os = "linux")]
mod rules;
mod trouble;

pub use enforce::Enforced;
pub use git::{entered_repositories, is_other_repository};
pub use launch::{LAUNCH_FAILED, Launcher, Sandbox, SandboxError, launch};
pub use policy::SandboxPolicy;
pub use protected::{ProtectedFiles, PutBack};
pub use trouble::EnforceError;
