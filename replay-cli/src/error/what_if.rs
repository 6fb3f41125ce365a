//! Why a changed decision is none.

use std::io;
use std::path::PathBuf;

/// A value of `--set` is not one.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// It has no value.
    #[error("--set {setting}: expected KEY=VALUE, such as compaction.keep_tokens=0 or file:AGENTS.md=@FILE")]
    NoValue { setting: String },
    /// The value has another form.
    #[error("--set {name}: expected {expected}")]
    BadValue { name: String, expected: &'static str },
    /// The key does not name a context source.
    #[error("--set source:{key}: not the key of a context source, such as core/date (see annals context)")]
    NoKey { key: String },
    /// No model of that name.
    #[error("--set model={model}: no model of that name is configured (see annals models)")]
    NoModel { model: String },
    /// It is nothing that can be changed.
    #[error(
        "--set {name}: neither a key of the configuration (see annals config) nor file:PATH, source:KEY, tool:NAME or \
         agent.system"
    )]
    NoSetting { name: String },
    /// A tool can only be left out.
    #[error("--set {name}: only none, since the log has no definition of another tool")]
    OnlyNone { name: String },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}
