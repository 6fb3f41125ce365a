//! Configuration: one file of the user's and one of the project's, each value with where it comes from
//! (`docs/configuration.md`).
//!
//! ```text
//! built in ─► the user's file ─► the project's file ─► environment variables        later ones win, key by key
//! ```
//!
//! What a project's file may not do by itself (name commands, redirect keys, allow more, keep less secret) is refused
//! unless the user trusted it: see [`Trust`]. What is signed with the user's key it may never say. A [`Config`] is what the runtime asks for agents and models, and the providers for
//! addresses and keys.

mod agent;
mod config;
mod confining;
mod definitions;
mod endpoints;
mod environment;
mod extensions;
mod guard;
mod keys;
mod markdown;
mod mcp;
mod models;
mod origin;
mod places;
mod problem;
mod reading;
mod redaction;
mod remember;
mod retention;
mod servers;
mod settings;
mod trust;
mod user_file;
mod variables;

pub use agent::{Agent, Mode};
pub use config::{Config, LoadedConfig, SigningSettings};
pub use environment::Environment;
pub use keys::{ConfigKey, KEYS, Project, ValueKind, at as config_key};
pub use markdown::PromptTemplate;
pub use mcp::check_name as check_server_name;
pub use origin::{ConfigLayer, ValueOrigin};
pub use places::{PROJECT_FILE, Places, ProjectFile, VARIABLE};
pub use problem::{ConfigError, Problem};
pub use reading::{Setting, shown};
pub use redaction::RedactionSettings;
pub use remember::{RememberedRules, remember};
pub use retention::RetentionRule;
pub use servers::{WrittenServer, remove_server, toml_value, write_server};
pub use settings::MergedSettings;
pub use trust::Trust;
pub use variables::Variables;
