//! What a location brings up to date at each boundary: the tools of MCP servers, and what the configuration says now of context
//! sources, instruction files and skills.

use crate::extension::ContextProgram;
use crate::mcp::McpServers;
use crate::skills::{SkillFolders, SkillRoot};
use annals_runtime::Boxed;
use annals_runtime::context::instructions::InstructionFiles;
use annals_runtime::context::{Instructions, Loaded, Registration, Registry, Skill, SkillCatalogue, SystemContext};
use annals_runtime::ports::RealFilesystem;
use annals_runtime::settings::ToolRenewal;
use annals_runtime::tools::ToolRegistry;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// What a configuration says of the context of sessions.
#[derive(Clone, Debug)]
pub struct ContextSettings {
    /// Which files instruct the model.
    pub instructions: InstructionFiles,
    /// Folders with skills; the first one that names a skill counts.
    pub skills: Vec<SkillRoot>,
    /// Context sources by command.
    pub context: Vec<ContextProgram>,
}

/// A configuration that may change while sessions run.
pub trait ChangingConfiguration: Send + Sync {
    /// What it says now and the number of that version; `None` where that is the version that is `known`. The first one is 0.
    fn since(&self, known: u64) -> Option<(u64, ContextSettings)>;
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
}

impl Contributed {
    /// Nothing but instruction files.
    pub(super) fn instructing(instructions: Option<Registration>) -> Self {
        Self { instructions, ..Self::default() }
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
            for remark in self.mcp.renew(&self.directory, &self.tools).await {
                tracing::warn!("{remark}");
            }
            let mut contributed = self.contributed.lock().await;
            let changed = self.configuration.as_ref().and_then(|it| it.since(contributed.version));
            let Some((version, ContextSettings { instructions, skills, context })) = changed else { return };
            contributed.version = version;
            self.skills.set(skills);
            if let Some(registration) = &mut contributed.instructions {
                registration.replace(Instructions { files: Arc::new(RealFilesystem), config: instructions });
            }
            contributed.contribute(&self.registry, Path::new(&self.directory), &context);
        })
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
