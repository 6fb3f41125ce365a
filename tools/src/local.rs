//! Locations on this machine: context sources, tools, skills, files.

mod renewal;

pub use renewal::{ChangingConfiguration, RenewedSettings};

use crate::background::BackgroundCommands;
use crate::editor_files::EditorFiles;
use crate::extension::{ContextProgram, CustomTool};
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
use annals_runtime::context::{Builtins, Instructions, SkillCatalogue};
use annals_runtime::host::{OUTPUTS, ServicesAt};
use annals_runtime::ports::{Clock, RealFilesystem, StorePath, SystemClock};
use annals_runtime::prompt::UserPrompt;
use annals_runtime::settings::{LocationServices, NestedInstructions};
use annals_runtime::tools::{SkillTool, Tool, ToolRegistry};
use renewal::{ChangingSkills, Contributed, LocationRenewal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The folder of a store that names the temporary files of edits.
pub const EDITS: &str = "edits";

/// Which built-in context sources there are.
#[derive(Clone)]
pub struct BuiltinSources {
    /// The clock of the date: its zone counts.
    pub clock: Arc<dyn Clock>,
    /// Directory, project and platform.
    pub environment: bool,
    /// The date.
    pub date: bool,
    /// Instruction files.
    pub instructions: bool,
    /// The list of skills.
    pub skills: bool,
}

impl Default for BuiltinSources {
    /// All of them, in the machine's time zone.
    fn default() -> Self {
        let clock = Arc::new(SystemClock::local());
        Self { clock, environment: true, date: true, instructions: true, skills: true }
    }
}

/// The services of every location on this machine: all tools of this crate, those of MCP servers and of the configuration, date and
/// environment, instruction files, context sources by command, skills from folders, and captures of files.
#[derive(Clone)]
pub struct LocalServices {
    /// Which built-in context sources there are.
    pub builtins: BuiltinSources,
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
    /// The configuration that all this is of, if it may change.
    pub configuration: Option<Arc<dyn ChangingConfiguration>>,
    /// Folders of the user that a project should not contain.
    pub own: OwnFolders,
}

/// Folders of the user that a project should not contain: an agent could read keys in it, or change what runs outside of any sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFolders {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Where the configuration of this program is.
    pub configuration: Vec<PathBuf>,
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
            clock: self.builtins.clock.clone(),
            platform: std::env::consts::OS.into(),
            environment: self.builtins.environment,
            date: self.builtins.date,
        };
        let instructions = Instructions { files: files.clone(), config: self.instructions.clone() };
        let fresh = "a registry that was made just now holds neither";
        services.registry.register(Builtins::key(), builtins).expect(fresh).detach();
        let instructed = self.builtins.instructions;
        let registered =
            instructed.then(|| services.registry.register(Instructions::key(), instructions).expect(fresh));
        let mut contributed = Contributed::instructing(registered);
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
        let skills = Arc::new(ChangingSkills::new(self.skills.clone()));
        let catalogue: Arc<dyn SkillCatalogue> = skills.clone();
        let mut all = crate::tools(&place);
        all.extend(crate::further_tools(&place, self.user.clone(), self.search.clone()));
        all.push(Arc::new(SkillTool::new(catalogue.clone())) as Arc<dyn Tool>);
        match services.tools.register(all) {
            Ok(layer) => layer.detach(),
            // The names of the configuration were tried when it was loaded.
            Err(error) => tracing::error!(%error, "the tools of a location are not offered"),
        }
        contributed.contribute(&services.registry, directory, &self.context);
        contributed.offer(&services.tools, directory, &self.custom_tools);
        let renewal = LocationRenewal {
            mcp: self.mcp.clone(),
            tools: services.tools.clone(),
            registry: services.registry.clone(),
            directory: location.directory.clone(),
            configuration: self.configuration.clone(),
            skills,
            contributed: Mutex::new(contributed),
        };
        services.renewal = Some(Arc::new(renewal));
        services.skills = Some(catalogue).filter(|_| self.builtins.skills);
        services.files = Some(files_kept_in(store.clone(), directory));
        let nested = || NestedInstructions { files, config: Arc::new(self.instructions.clone()) };
        services.nested = instructed.then(nested);
        services
    }

    fn start<'a>(&'a self, location: &'a Location, tools: ToolRegistry) -> Boxed<'a, Vec<String>> {
        Box::pin(async move { self.mcp.start(&location.directory, &tools).await })
    }

    /// Links out of an untrusted project, which are not followed, and folders of the user that a project contains.
    fn remarks<'a>(&'a self, location: &'a Location, store: &'a StorePath) -> Boxed<'a, Vec<String>> {
        Box::pin(async move {
            let directory = &location.directory;
            let mut remarks = self.contained(project(Path::new(directory)), store);
            let instructions = Instructions { files: Arc::new(RealFilesystem), config: self.instructions.clone() };
            let catalogue = self.catalogue();
            let (instructions, skills) = tokio::join!(instructions.links_out(directory), catalogue.links_out());
            // An unreadable file is reported when it is needed.
            let links = instructions.into_iter().chain(skills).flatten();
            let root = project(Path::new(directory));
            let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
            remarks.extend(links.map(|link| not_followed(&link, Path::new(directory), &root)));
            remarks
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
    /// What a person should know of a project that contains their own folders.
    fn contained(&self, project: &Path, store: &StorePath) -> Vec<String> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let project = real(project);
        let holds = |path: &Path| real(path).starts_with(&project);
        let home = self.own.home.as_deref().is_some_and(holds).then_some("your home folder");
        let sessions = holds(&store.shown()).then_some("the store of your sessions");
        let own = self.own.configuration.iter().any(|path| holds(path)).then_some("the configuration of annals");
        let held: Vec<&str> = [home, sessions, own].into_iter().flatten().collect();
        if held.is_empty() {
            return Vec::new();
        }
        let confined = self.sandbox.as_ref().map(|settings| confinement(settings, &project, store));
        let kept = match confined {
            None => "no sandbox keeps commands from it".to_owned(),
            Some(confined) => {
                let narrowed: Vec<String> = confined.narrowed().iter().map(|path| path.display().to_string()).collect();
                let kept = "commands in the sandbox cannot change the configuration or start-up files, nor read keys or the store";
                match narrowed.is_empty() {
                    true => kept.to_owned(),
                    false => format!("{kept}, and cannot make files directly in {}", narrowed.join(", ")),
                }
            }
        };
        let (project, held) = (project.display(), held.join(" and "));
        vec![format!("the project {project} contains {held}: {kept}; start annals in a folder of its own instead")]
    }

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
