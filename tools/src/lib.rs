//! The first tools: `read`, `write`, `edit`, `bash`, `grep`, `glob` and `ls`, and skills from folders
//! (`docs/reference/turn.md#tools`).
//!
//! A tool consists of its input ([`schemars`] writes the schema for the model), the permission it needs, and its work. A
//! path in a call is resolved to a real path first, links and `..` included; a path outside the project is judged as
//! `external_directory` on its directory before it is judged as what is done to it; and a path that leads elsewhere by
//! the time the call runs is refused. This is not a sandbox: what `bash` is allowed to run may do anything.
//!
//! ```text
//! read write edit  grep glob ls  bash ─► typed (input, schema) ─► annals_runtime::tools
//!    │      │        │             │
//!    │    change   walk          process_group, pipe_output
//!    ▼      ▼        ▼             ▼
//! workplace (paths, permissions) ◄─► seen_files (what a session has read)
//!
//! mcp: programs that offer tools ─► annals_runtime::tools
//! skills: folders ─► annals_runtime::context          worktree: git ─► annals_runtime::worktree
//! ```

mod attach;
mod background;
mod background_tools;
mod bash;
mod carry;
mod change;
mod command;
mod confinement;
mod edit;
mod editor_files;
pub mod erase;
mod extension;
mod file_content;
mod files_in_log;
mod git_environment;
mod glob;
mod grep;
mod image;
mod leftovers;
mod lines;
pub mod local;
mod ls;
mod lsp_tools;
mod matching;
pub mod mcp;
mod multiedit;
mod open;
mod patch;
mod pipe_output;
mod process_group;
mod program;
mod question;
mod read;
mod seen_files;
pub mod skills;
mod stop_signal;
mod terminal;
mod terminal_input;
mod todo;
mod typed;
mod variables;
mod walk;
mod web;
mod workplace;
pub mod worktree;
mod write;

/// Programs that tests need: the list of `annals_tests::needed`.
#[cfg(test)]
#[allow(dead_code, unused_macros, unused_imports)]
#[path = "../../tests/src/needed.rs"]
mod needed;

#[cfg(test)]
mod tests;

pub use annals_sandbox::{Launcher, launch};
pub use attach::{AttachError, attachment, text_attachment};
pub use background::{BackgroundCommand, BackgroundCommands};
pub use confinement::{Confinement, OUTSIDE, SandboxLimits, SandboxSettings};
pub use editor_files::EditorFiles;
pub use extension::{ContextProgram, CustomTool, Hook, HookMoment, HookPrograms, LookWhen};
pub use leftovers::remove_leftovers;
pub use local::{BuiltinSources, ChangingConfiguration, LocalServices, OwnFolders, RenewedSettings};
pub use program::{ExternalProgram, ProgramError, ProgramOutput};
pub use terminal::TerminalOverlay;
pub use web::{SearchProvider, WebSearch};
pub use workplace::{EXTERNAL_DIRECTORY, LanguageServer, LanguageServers, Workplace};

use annals_runtime::prompt::UserPrompt;
use annals_runtime::tools::Tool;
use std::sync::Arc;
use typed::TypedAdapter;

/// The permission action of tools that change files.
pub const EDIT: &str = "edit";

/// The tools of a location, to be registered there. They share what they know of the files that sessions have read.
///
/// ```
/// use annals_runtime::tools::ToolRegistry;
/// use annals_tools::{Workplace, tools};
///
/// let registry = ToolRegistry::default();
/// registry.register(tools(&Workplace::at("/project", "/project")))?.detach();
/// let offered = registry.materialise(&[]);
/// let names: Vec<&str> = offered.tools().iter().map(|tool| tool.definition().name.as_str()).collect();
/// assert_eq!(names, ["bash", "edit", "glob", "grep", "ls", "read", "write"]);
/// # Ok::<(), annals_runtime::tools::RegistrationError>(())
/// ```
pub fn tools(place: &Workplace) -> Vec<Arc<dyn Tool>> {
    let place = place.clone();
    vec![
        Arc::new(TypedAdapter(bash::Bash(place.clone()))),
        Arc::new(TypedAdapter(edit::Edit(place.clone()))),
        Arc::new(TypedAdapter(glob::Glob(place.clone()))),
        Arc::new(TypedAdapter(grep::Grep(place.clone()))),
        Arc::new(TypedAdapter(ls::Ls(place.clone()))),
        Arc::new(TypedAdapter(read::Read(place.clone()))),
        Arc::new(TypedAdapter(write::Write(place))),
    ]
}

/// Further tools of a location, which small windows do without: `multiedit`, `apply_patch`, `todo`, `webfetch`, `bash_input`,
/// `bash_output`, `bash_kill`, and those for which there is something: `question`, `websearch`, `lsp_hover`, `lsp_diagnostics`.
pub fn further_tools(
    place: &Workplace,
    user: Option<Arc<dyn UserPrompt>>,
    search: Option<WebSearch>,
) -> Vec<Arc<dyn Tool>> {
    let mut all: Vec<Arc<dyn Tool>> = vec![
        Arc::new(TypedAdapter(patch::ApplyPatch(place.clone()))),
        Arc::new(TypedAdapter(terminal_input::BashInput(place.clone()))),
        Arc::new(TypedAdapter(background_tools::BashKill(place.clone()))),
        Arc::new(TypedAdapter(background_tools::BashOutput(place.clone()))),
        Arc::new(TypedAdapter(multiedit::MultiEdit(place.clone()))),
        Arc::new(TypedAdapter(todo::TodoList)),
        Arc::new(TypedAdapter(web::WebFetch)),
    ];
    if let Some(user) = user {
        all.push(Arc::new(TypedAdapter(question::QuestionTool(user))));
    }
    if let Some(search) = search {
        all.push(Arc::new(TypedAdapter(web::SearchTool { search, directory: place.directory().to_owned() })));
    }
    if let Some(servers) = place.servers().filter(|servers| !servers.is_empty()) {
        all.push(Arc::new(TypedAdapter(lsp_tools::LspDiagnostics(place.clone(), servers.clone()))));
        all.push(Arc::new(TypedAdapter(lsp_tools::LspHover(place.clone(), servers.clone()))));
    }
    all
}
