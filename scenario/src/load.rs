//! Reads a scenario file, strictly: everything unknown is an error.

use super::action::list;
use super::file::{BUILTINS, Builtin, CompactionSpec, DeclaredAgent, DeclaredModel, InitialSession, Scenario};
use super::names::model_name;
use super::reader::{JsonAt, KnownFields};
use super::{Invalid, LoadError, check, json};
use annals_core::AgentName;
use annals_core::event::{Effect, Policy, Rule, Switch, SystemMessages};
use annals_runtime::settings::TitleSettings;
use annals_runtime::subagents::{Subagent, Subagents};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// When the file cannot be read, is not JSON, or is not a valid scenario. Nothing is run.
    pub fn load(file: &Path) -> Result<Self, LoadError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| LoadError::Read { file: file.to_owned(), source: Arc::new(source) })?;
        Self::parse(&text, file)
    }

    /// Reads the text of a scenario file; `file` is what errors name it by.
    ///
    /// # Errors
    /// When the text is not JSON or not a valid scenario.
    pub fn parse(text: &str, file: &Path) -> Result<Self, LoadError> {
        let value =
            json::read(text).map_err(|source| LoadError::Json { file: file.to_owned(), source: Arc::new(source) })?;
        Self::read(&JsonAt::root(&value)).map_err(|source| LoadError::Invalid { file: file.to_owned(), source })
    }

    fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        let fields = at.fields(&[
            "scenario",
            "name",
            "session",
            "policy",
            "agents",
            "models",
            "config",
            "builtins",
            "worktree",
            "titles",
            "subagents",
            "subagent_depth",
            "script",
        ])?;
        let version = fields.need("scenario")?;
        if version.whole::<u64>()? != 1 {
            return Err(version.invalid("this version plays scenarios of form 1"));
        }
        let script = fields.need("script")?;
        let scenario = Self {
            name: fields.need("name")?.text()?.to_owned(),
            session: fields.read("session", |at| start(&at))?.unwrap_or_default(),
            policy: fields.read("policy", |at| policy(&at))?.unwrap_or_default(),
            agents: named(&fields, "agents", |name, at| Ok((AgentName::from(name), agent(at)?)))?,
            models: named(&fields, "models", |name, at| {
                model_name(name).map_err(|reason| at.invalid(reason)).and_then(|name| Ok((name, model(at)?)))
            })?,
            compaction: fields.read("config", |at| config(&at))?.unwrap_or_default(),
            builtins: fields.read("builtins", |at| builtins(&at))?.unwrap_or_default(),
            worktree: fields.read("worktree", |at| at.boolean())?.unwrap_or(false),
            titles: fields.read("titles", |at| titles(&at))?,
            subagents: subagents(&fields)?,
            script: list(&script)?,
        };
        if scenario.script.is_empty() {
            return Err(script.invalid("the script is empty: nothing would be shown"));
        }
        check::names(&scenario)?;
        Ok(scenario)
    }
}

fn titles(at: &JsonAt<'_>) -> Result<TitleSettings, Invalid> {
    let fields = at.fields(&["agent", "model"])?;
    Ok(TitleSettings {
        agent: fields.read("agent", |at| at.name("an agent").map(AgentName::from))?,
        model: fields.read("model", |at| model_name(at.text()?).map_err(|reason| at.invalid(reason)))?,
    })
}

fn subagents(fields: &KnownFields<'_>) -> Result<Option<Subagents>, Invalid> {
    let depth = fields.read("subagent_depth", |at| at.whole::<u32>())?;
    let Some(at) = fields.get("subagents") else {
        return match fields.get("subagent_depth") {
            Some(at) => Err(at.invalid("it has no effect without `subagents`")),
            None => Ok(None),
        };
    };
    let one = |(name, at): (&str, JsonAt<'_>)| {
        let fields = at.fields(&["description", "model"])?;
        Ok(Subagent {
            agent: AgentName::from(name),
            description: fields.read("description", |at| at.text().map(str::to_owned))?.unwrap_or_default(),
            model: fields.read("model", |at| model_name(at.text()?).map_err(|reason| at.invalid(reason)))?,
        })
    };
    let all = Subagents::new(at.entries()?.into_iter().map(one).collect::<Result<_, Invalid>>()?);
    Ok(Some(Subagents { depth: depth.map_or(all.depth, |depth| depth as usize), ..all }))
}

fn start(at: &JsonAt<'_>) -> Result<InitialSession, Invalid> {
    let fields = at.fields(&["location", "agent", "model"])?;
    let default = InitialSession::default();
    Ok(InitialSession {
        location: fields.read("location", |at| at.absolute())?.unwrap_or(default.location),
        agent: fields.read("agent", |at| at.name("an agent").map(AgentName::from))?.unwrap_or(default.agent),
        model: fields
            .read("model", |at| model_name(at.text()?).map_err(|reason| at.invalid(reason)))?
            .unwrap_or(default.model),
    })
}

fn policy(at: &JsonAt<'_>) -> Result<Policy, Invalid> {
    let words = &[("keep", Switch::Keep), ("replace", Switch::Replace)];
    let fields = at.fields(&["agent_switch", "model_switch"])?;
    Ok(Policy {
        agent_switch: fields.read("agent_switch", |at| at.word(words))?.unwrap_or(Switch::Keep),
        model_switch: fields.read("model_switch", |at| at.word(words))?.unwrap_or(Switch::Keep),
    })
}

fn named<'a, K: Ord, V>(
    fields: &KnownFields<'a>,
    name: &str,
    read: impl Fn(&str, &JsonAt<'a>) -> Result<(K, V), Invalid>,
) -> Result<BTreeMap<K, V>, Invalid> {
    let Some(at) = fields.get(name) else { return Ok(BTreeMap::new()) };
    at.entries()?.into_iter().map(|(name, at)| read(name, &at)).collect()
}

fn agent(at: &JsonAt<'_>) -> Result<DeclaredAgent, Invalid> {
    let fields = at.fields(&["system", "steps", "permissions"])?;
    Ok(DeclaredAgent {
        system: fields.read("system", |at| at.text().map(str::to_owned))?,
        steps: fields.read("steps", |at| at.whole())?,
        permissions: fields.read("permissions", |at| at.items()?.iter().map(rule).collect())?.unwrap_or_default(),
    })
}

fn rule(at: &JsonAt<'_>) -> Result<Rule, Invalid> {
    let items = at.items()?;
    let [action, resource, effect] = items.as_slice() else {
        return Err(at.invalid("a permission rule is `[action, resource, effect]`"));
    };
    let effects = &[("allow", Effect::Allow), ("deny", Effect::Deny), ("ask", Effect::Ask)];
    Ok(Rule { action: action.text()?.to_owned(), resource: resource.text()?.to_owned(), effect: effect.word(effects)? })
}

fn model(at: &JsonAt<'_>) -> Result<DeclaredModel, Invalid> {
    let words = &[("native", SystemMessages::Native), ("wrapped", SystemMessages::Wrapped)];
    let fields = at.fields(&["context", "output", "system_messages"])?;
    let default = DeclaredModel::default();
    Ok(DeclaredModel {
        context: fields.read("context", |at| at.whole())?.unwrap_or(default.context),
        output: fields.read("output", |at| at.whole())?.unwrap_or(default.output),
        system_messages: fields.read("system_messages", |at| at.word(words))?.unwrap_or(default.system_messages),
    })
}

fn config(at: &JsonAt<'_>) -> Result<CompactionSpec, Invalid> {
    let Some(at) = at.fields(&["compaction"])?.get("compaction") else { return Ok(CompactionSpec::default()) };
    let fields = at.fields(&["auto", "prune", "buffer", "keep_tokens", "agent"])?;
    let default = CompactionSpec::default();
    Ok(CompactionSpec {
        auto: fields.read("auto", |at| at.boolean())?.unwrap_or(default.auto),
        prune: fields.read("prune", |at| at.boolean())?.unwrap_or(default.prune),
        buffer: fields.read("buffer", |at| at.whole())?.unwrap_or(default.buffer),
        keep_tokens: fields.read("keep_tokens", |at| at.whole())?.unwrap_or(default.keep_tokens),
        agent: fields.read("agent", |at| at.name("an agent").map(AgentName::from))?,
    })
}

fn builtins(at: &JsonAt<'_>) -> Result<BTreeSet<Builtin>, Invalid> {
    at.items()?.iter().map(|item| item.word(BUILTINS)).collect()
}
