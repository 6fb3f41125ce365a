//! Locations on this machine: context sources, tools, skills, files.

use crate::background::BackgroundCommands;
use crate::editor_files::EditorFiles;
use crate::extension::{ContextProgram, CustomTool, ProgramTool};
use crate::mcp::McpServers;
use crate::skills::{SkillFolders, SkillRoot};
use crate::terminal::TerminalOverlay;
use crate::web::WebSearch;
use crate::workplace::LanguageServers;
use crate::worktree::files_kept_in;
use crate::{Confinement, SandboxSettings, Workplace};
use annals_core::bound::Limits;
use annals_core::event::Location;
use annals_runtime::Boxed;
use annals_runtime::context::instructions::{InstructionFiles, LinkOut};
use annals_runtime::context::{Builtins, Instructions, SkillCatalogue, SystemContext};
use annals_runtime::host::{OUTPUTS, ServicesAt};
use annals_runtime::ports::{RealFilesystem, StorePath, SystemClock};
use annals_runtime::prompt::UserPrompt;
use annals_runtime::settings::{LocationServices, NestedInstructions, ToolRenewal};
use annals_runtime::tools::{SkillTool, Tool, ToolRegistry};
use std::path::Path;
use std::sync::Arc;

/// The folder of a store that names the temporary files of edits.
pub const EDITS: &str = "edits";

/// The services of every location on this machine: all tools of this crate, those of MCP servers and of the configuration, date and
/// environment, instruction files, context sources by command, skills from folders, and captures of files.
#[derive(Clone)]
pub struct LocalServices {
    /// Which files instruct the model.
    pub instructions: InstructionFiles,
    /// Folders with skills; the first one that names a skill counts.
    pub skills: Vec<SkillRoot>,
    /// Environment variables that commands do not see.
    pub hidden: Vec<String>,
    /// Environment variables that commands see in addition to the usual ones: names, and patterns with `*`.
    pub variables: Vec<String>,
    /// How commands are confined; `None` runs them as the user.
    pub sandbox: Option<SandboxSettings>,
    /// How much of one call's output a model is shown.
    pub output: Limits,
    /// Programs that offer further tools.
    pub mcp: McpServers,
    /// The time limit of commands without another, in milliseconds.
    pub command_limit_ms: Option<u64>,
    /// The commands that run in the background.
    pub commands: BackgroundCommands,
    /// Who searches the web; without one there is no tool for it.
    pub search: Option<WebSearch>,
    /// Language servers, which check changed files.
    pub servers: LanguageServers,
    /// Who answers questions of models; without one there is no tool for them.
    pub user: Option<Arc<dyn UserPrompt>>,
    /// Tools by command.
    pub custom_tools: Vec<CustomTool>,
    /// An editor that holds files.
    pub editor: Option<Arc<dyn EditorFiles>>,
    /// Who gives variables for the terminals of commands.
    pub terminals: Arc<dyn TerminalOverlay>,
    /// Context sources by command.
    pub context: Vec<ContextProgram>,
}

impl std::fmt::Debug for LocalServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalServices").finish_non_exhaustive()
    }
}

impl ServicesAt for LocalServices {
    fn services(&self, location: &Location, tools: ToolRegistry, store: &StorePath) -> LocationServices {
        let files = Arc::new(RealFilesystem);
        let mut services = LocationServices { tools, ..LocationServices::default() };
        let builtins = Builtins {
            files: files.clone(),
            clock: Arc::new(SystemClock::local()),
            platform: std::env::consts::OS.into(),
            environment: true,
            date: true,
        };
        let instructions = Instructions { files: files.clone(), config: self.instructions.clone() };
        let registered = [
            services.registry.register(Builtins::key(), builtins),
            services.registry.register(Instructions::key(), instructions),
        ];
        for registration in registered {
            registration.expect("a registry that was made just now holds neither").detach();
        }
        let directory = Path::new(&location.directory);
        let mut place = Workplace::at(directory, project(directory))
            .outputs(store.join(OUTPUTS))
            .hiding(self.hidden.iter().cloned())
            .showing(self.variables.iter().cloned())
            .recording(store.join(EDITS))
            .in_background(self.commands.clone())
            .command_limit(self.command_limit_ms)
            .checked_by(self.servers.clone())
            .terminals(self.terminals.clone())
            .in_editor(self.editor.clone())
            .limits(self.output);
        for folder in &self.skills {
            place = place.readable(&folder.path);
        }
        if let Some(settings) = &self.sandbox {
            place = place.confined(confinement(settings, project(directory), store));
        }
        let catalogue: Arc<dyn SkillCatalogue> = Arc::new(self.catalogue());
        let mut all = crate::tools(&place);
        all.extend(crate::further_tools(&place, self.user.clone(), self.search.clone()));
        for settings in &self.custom_tools {
            // One that takes the name of a built-in tool takes its place.
            all.retain(|tool| tool.definition().name != settings.name);
            let directory = directory.to_owned();
            all.push(Arc::new(ProgramTool { settings: settings.clone(), directory }));
        }
        all.push(Arc::new(SkillTool::new(catalogue.clone())) as Arc<dyn Tool>);
        match services.tools.register(all) {
            Ok(layer) => layer.detach(),
            // The names of the configuration were tried when it was loaded.
            Err(error) => tracing::error!(%error, "the tools of a location are not offered"),
        }
        for context in &self.context {
            match services.registry.register(context.key.clone(), SystemContext::from(context.source(directory))) {
                Ok(registration) => registration.detach(),
                Err(error) => tracing::warn!(%error, "a context source of the configuration is left out"),
            }
        }
        let renewal = McpRenewal {
            mcp: self.mcp.clone(),
            registry: services.tools.clone(),
            directory: location.directory.clone(),
        };
        services.renewal = Some(Arc::new(renewal));
        services.skills = Some(catalogue);
        services.files = Some(files_kept_in(store.clone(), directory));
        services.nested = Some(NestedInstructions { files, config: Arc::new(self.instructions.clone()) });
        services
    }

    fn start<'a>(&'a self, location: &'a Location, tools: ToolRegistry) -> Boxed<'a, Vec<String>> {
        Box::pin(async move { self.mcp.start(&location.directory, &tools).await })
    }

    /// Links out of an untrusted project, which are not followed.
    fn remarks<'a>(&'a self, location: &'a Location) -> Boxed<'a, Vec<String>> {
        Box::pin(async move {
            let directory = &location.directory;
            let instructions = Instructions { files: Arc::new(RealFilesystem), config: self.instructions.clone() };
            let catalogue = self.catalogue();
            let (instructions, skills) = tokio::join!(instructions.links_out(directory), catalogue.links_out());
            // An unreadable file is reported when it is needed.
            let links = instructions.into_iter().chain(skills).flatten();
            let root = project(Path::new(directory));
            let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
            links.map(|link| not_followed(&link, Path::new(directory), &root)).collect()
        })
    }
}

/// Registers the tools of MCP servers that have others now.
struct McpRenewal {
    mcp: McpServers,
    registry: ToolRegistry,
    directory: String,
}

impl ToolRenewal for McpRenewal {
    fn renew(&self) -> Boxed<'_, ()> {
        Box::pin(async move {
            for remark in self.mcp.renew(&self.directory, &self.registry).await {
                tracing::warn!("{remark}");
            }
        })
    }
}

/// The sandbox of a project. Sessions of other projects, which a store holds, are hidden.
fn confinement(settings: &SandboxSettings, project: &Path, store: &StorePath) -> Confinement {
    let mut policy = settings.policy(project.canonicalize().unwrap_or_else(|_| project.to_owned()));
    policy.hide.push(store.shown());
    Confinement::probe(settings.launcher.clone(), policy)
}

impl LocalServices {
    fn catalogue(&self) -> SkillFolders {
        SkillFolders::new(Arc::new(RealFilesystem), self.skills.iter().cloned())
    }
}

fn not_followed(LinkOut { path, target }: &LinkOut, directory: &Path, project: &Path) -> String {
    let shown = Path::new(path).strip_prefix(directory).unwrap_or(Path::new(path)).display();
    let why = match Path::new(target).starts_with(project) {
        true => format!("leads to {target}, which a permission rule protects"),
        false => format!("is a link out of the project, to {target}"),
    };
    format!(
        "{shown} {why}: it is not read, because the project is not trusted; to trust it: `annals config trust` (needs a file \
         .annals/config.toml, which may be empty)"
    )
}

/// The nearest folder with `.git`, or the directory itself.
fn project(directory: &Path) -> &Path {
    directory.ancestors().find(|above| above.join(".git").exists()).unwrap_or(directory)
}
