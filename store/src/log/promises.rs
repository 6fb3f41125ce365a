//! What a log promises.

use std::fmt::{self, Display};

/// What an acknowledgement of a log means: where a batch is when [`crate::EventLog::append`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Where an acknowledged batch is.
    pub acknowledged: Acknowledged,
    /// Whether positions are dense and one order of all sessions is kept. Otherwise only each session has an order.
    pub ordered: bool,
}

/// Where an acknowledged batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// In the memory of one process: it ends with it.
    InMemory,
    /// Flushed to the device of one machine: it survives the process and a power failure.
    OnDevice,
    /// Flushed to the devices of more than half of so many machines: it survives the loss of the others.
    OnQuorum {
        /// How many machines have a copy when all are well.
        replicas: u16,
    },
    /// In the memory of more than half of so many machines, which flush it later: a power failure of all of them loses it.
    InQuorumMemory {
        /// How many machines have a copy when all are well.
        replicas: u16,
    },
    /// Nothing is appended.
    ReadOnly,
}

impl Promises {
    /// Of a log in memory.
    pub const IN_MEMORY: Self = Self { acknowledged: Acknowledged::InMemory, ordered: true };
    /// Of a store in a folder.
    pub const ON_DEVICE: Self = Self { acknowledged: Acknowledged::OnDevice, ordered: true };
    /// Of a log that is only read.
    pub const READ_ONLY: Self = Self { acknowledged: Acknowledged::ReadOnly, ordered: true };
}

impl Display for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InMemory => f.write_str("in memory"),
            Self::OnDevice => f.write_str("flushed to the device of this machine"),
            Self::OnQuorum { replicas: 1 } => f.write_str("flushed to the device of one server"),
            Self::OnQuorum { replicas } => {
                write!(f, "flushed to the devices of {} of {replicas} servers", replicas / 2 + 1)
            }
            Self::InQuorumMemory { replicas } => {
                write!(f, "in memory of {} of {replicas} servers, flushed later", replicas / 2 + 1)
            }
            Self::ReadOnly => f.write_str("nothing: the log is only read"),
        }
    }
}
