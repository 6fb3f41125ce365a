//! What a location brings up to date at each boundary: the tools of MCP servers, and what the configuration says now of servers, tools by
//! command, context sources, instruction files and skills.

use crate::extension::{ContextProgram, CustomTool, ProgramTool};
use crate::mcp::{McpServer, McpServers};
use crate::skills::{SkillFolders, SkillRoot};
use annals_runtime::Boxed;
use annals_runtime::context::instructions::InstructionFiles;
use annals_runtime::context::{Instructions, Loaded, Registration, Registry, Skill, SkillCatalogue, SystemContext};
use annals_runtime::ports::RealFilesystem;
use annals_runtime::settings::ToolRenewal;
use annals_runtime::tools::{Layer, Tool, ToolRegistry};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// What a configuration says of what sessions bring up to date.
#[derive(Clone, Debug)]
pub struct RenewedSettings {
    /// Which files instruct the model.
    pub instructions: InstructionFiles,
    /// Folders with skills; the first one that names a skill counts.
    pub skills: Vec<SkillRoot>,
    /// Context sources by command.
    pub context: Vec<ContextProgram>,
    /// Tools by command.
    pub custom_tools: Vec<CustomTool>,
    /// Programs and addresses that offer further tools.
    pub mcp: Vec<McpServer>,
}

/// A configuration that may change while sessions run.
pub trait ChangingConfiguration: Send + Sync {
    /// What it says now and the number of that version; `None` where that is the version that is `known`. The first one is 0.
    fn since(&self, known: u64) -> Option<(u64, RenewedSettings)>;
}

/// Brings a location up to date.
pub(super) struct LocationRenewal {
    pub(super) mcp: McpServers,
    pub(super) tools: ToolRegistry,
    pub(super) registry: Registry,
    pub(super) directory: String,
    pub(super) configuration: Option<Arc<dyn ChangingConfiguration>>,
    pub(super) skills: Arc<ChangingSkills>,
    pub(super) contributed: Mutex<Contributed>,
}

/// What the configuration contributes at a location.
#[derive(Default)]
pub(super) struct Contributed {
    version: u64,
    programs: Vec<(ContextProgram, Registration)>,
    instructions: Option<Registration>,
    custom_tools: Vec<CustomTool>,
    offered: Option<Layer>,
}

impl Contributed {
    /// Nothing but instruction files.
    pub(super) fn instructing(instructions: Option<Registration>) -> Self {
        Self { instructions, ..Self::default() }
    }

    /// Offers tools by command. One that has the name of a built-in tool takes its place.
    pub(super) fn offer(&mut self, registry: &ToolRegistry, directory: &Path, custom_tools: &[CustomTool]) {
        if self.custom_tools == custom_tools {
            return;
        }
        let tool = |settings: &CustomTool| -> Arc<dyn Tool> {
            Arc::new(ProgramTool { settings: settings.clone(), directory: directory.to_owned() })
        };
        match registry.register(custom_tools.iter().map(tool)) {
            // Those of before are closed once the new ones are there.
            Ok(layer) => (self.custom_tools, self.offered) = (custom_tools.to_vec(), Some(layer)),
            // Names were tried when the configuration was loaded.
            Err(error) => tracing::error!(%error, "the tools of the configuration are not offered"),
        }
    }

    /// Registers programs that are new and closes those that are gone. The others keep what they know.
    pub(super) fn contribute(&mut self, registry: &Registry, directory: &Path, programs: &[ContextProgram]) {
        self.programs.retain(|(known, _)| programs.contains(known));
        for program in programs {
            if self.programs.iter().any(|(known, _)| known == program) {
                continue;
            }
            match registry.register(program.key.clone(), SystemContext::from(program.source(directory))) {
                Ok(registration) => self.programs.push((program.clone(), registration)),
                // Keys were compared when the configuration was loaded.
                Err(error) => tracing::warn!(%error, "a context source of the configuration is left out"),
            }
        }
    }
}

impl ToolRenewal for LocationRenewal {
    fn renew(&self) -> Boxed<'_, ()> {
        Box::pin(async move {
            self.follow_configuration().await;
            for remark in self.mcp.renew(&self.directory, &self.tools).await {
                tracing::warn!("{remark}");
            }
        })
    }
}

impl LocationRenewal {
    async fn follow_configuration(&self) {
        let mut contributed = self.contributed.lock().await;
        let changed = self.configuration.as_ref().and_then(|it| it.since(contributed.version));
        let Some((version, settings)) = changed else { return };
        let RenewedSettings { instructions, skills, context, custom_tools, mcp } = settings;
        contributed.version = version;
        self.skills.set(skills);
        if let Some(registration) = &mut contributed.instructions {
            registration.replace(Instructions { files: Arc::new(RealFilesystem), config: instructions });
        }
        let directory = Path::new(&self.directory);
        contributed.contribute(&self.registry, directory, &context);
        contributed.offer(&self.tools, directory, &custom_tools);
        self.mcp.replace(mcp);
    }
}

/// Skills of folders that the configuration may change.
pub(super) struct ChangingSkills(RwLock<Vec<SkillRoot>>);

impl ChangingSkills {
    pub(super) fn new(roots: Vec<SkillRoot>) -> Self {
        Self(RwLock::new(roots))
    }

    fn set(&self, roots: Vec<SkillRoot>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }
}

impl SkillCatalogue for ChangingSkills {
    fn skills(&self) -> Boxed<'_, Loaded<Vec<Skill>>> {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move { SkillFolders::new(Arc::new(RealFilesystem), roots).skills().await })
    }
}
