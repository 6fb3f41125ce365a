//! The doors to the world: everything that the runtime does not decide itself comes in through these traits, and a
//! scripted world implements the same ones (`ARCHITECTURE.md#invariants`).

mod clock;
pub mod filesystem;
mod ids;
pub mod outputs;

pub use annals_providers::provider;
pub use annals_providers::provider::{
    AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest,
};
pub use annals_store::disk::StorePath;
pub use clock::{Clock, FixedClock, SystemClock, now_of, system_zone};
pub use filesystem::{FileKind, Filesystem, LARGEST_TEXT, MemoryFilesystem, RealFilesystem};
pub use ids::{Ids, NoEntropy, SeededIds};
pub use outputs::{OutputFiles, OutputFolder, keep_swept, sweep};
