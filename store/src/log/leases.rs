//! The rights to run sessions, where a log gives them itself.

use super::Boxed;
use annals_core::SessionId;
use std::fmt::Debug;
use std::io;

/// The rights to run sessions of a log that several machines share. Appends are fenced by their Seq without it: it keeps two processes from
/// working on one session at a time.
pub trait SessionLeases: Debug + Send + Sync {
    /// Takes the right to run a session; `None` while another process has it.
    ///
    /// # Errors
    /// When it is not known whether another process has it.
    fn take(&self, session: SessionId) -> Boxed<'_, io::Result<Option<Box<dyn HeldLease>>>>;
}

/// The right to run a session: held until it is dropped, or until its process is gone.
pub trait HeldLease: Debug + Send + Sync {}
