//! Expands a typed prompt: a template with arguments, files (`@path`), agents (`@name`) and the output of commands
//! (`docs/extending.md#prompts`).

use annals_config::PromptTemplate;
use annals_core::event::{Attachment, ModelProfile};
use annals_core::{AgentName, ModelName};
use annals_providers::wire::is_sent;
use annals_tools::mcp::{McpPrompt, McpServers};
use annals_tools::{ExternalProgram, attachment, text_attachment};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a command of a template may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How many files one prompt may name.
const FILES: usize = 20;

/// Gives the templates as their files are now.
#[derive(Clone)]
pub struct TemplateSource(Arc<dyn Fn() -> BTreeMap<String, PromptTemplate> + Send + Sync>);

impl TemplateSource {
    /// What a function gives, at each use.
    pub fn new(templates: impl Fn() -> BTreeMap<String, PromptTemplate> + Send + Sync + 'static) -> Self {
        Self(Arc::new(templates))
    }
}

impl From<BTreeMap<String, PromptTemplate>> for TemplateSource {
    fn from(templates: BTreeMap<String, PromptTemplate>) -> Self {
        Self::new(move || templates.clone())
    }
}

impl Default for TemplateSource {
    fn default() -> Self {
        Self::from(BTreeMap::new())
    }
}

impl fmt::Debug for TemplateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TemplateSource")
    }
}

/// Makes of typed prompts what is sent.
#[derive(Clone, Debug, Default)]
pub struct PromptExpander {
    templates: TemplateSource,
    subagents: Vec<AgentName>,
    directory: PathBuf,
    trusted: bool,
    mcp: McpServers,
}

/// A prompt as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpandedPrompt {
    /// The text.
    pub text: String,
    /// The files that it names.
    pub attachments: Vec<Attachment>,
    /// The agent that its template asks for.
    pub agent: Option<String>,
    /// The model that its template asks for.
    pub model: Option<ModelName>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

impl PromptExpander {
    /// Prompts in a directory; `trusted`: whether the project's configuration is.
    pub fn new(
        templates: impl Into<TemplateSource>,
        subagents: Vec<AgentName>,
        directory: &str,
        trusted: bool,
    ) -> Self {
        Self {
            templates: templates.into(),
            subagents,
            directory: directory.into(),
            trusted,
            mcp: McpServers::default(),
        }
    }

    /// The same with the prompts and resources of MCP servers: `/mcp__SERVER__PROMPT`, `@SERVER:URI`.
    #[must_use]
    pub fn with_servers(self, mcp: McpServers) -> Self {
        Self { mcp, ..self }
    }

    /// The templates by name, with what they do.
    pub fn templates(&self) -> impl Iterator<Item = (String, String)> {
        (self.templates.0)().into_values().map(|one| (one.name, one.description))
    }

    /// The template that a line calls, with its arguments.
    fn called<'a>(&self, typed: &'a str) -> Option<(PromptTemplate, &'a str)> {
        let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let name = name.strip_prefix('/')?;
        Some(((self.templates.0)().remove(name)?, arguments.trim()))
    }

    /// The prompt of an MCP server that a line calls, with its arguments.
    fn server_prompt<'a>(&self, typed: &'a str) -> Option<(&'a str, &'a str)> {
        let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let name = name.strip_prefix('/').filter(|name| self.mcp.is_prompt(name))?;
        Some((name, arguments.trim()))
    }

    /// Whether a line calls a template, or a prompt of a server.
    pub fn is_template(&self, typed: &str) -> bool {
        self.called(typed.trim()).is_some() || self.server_prompt(typed.trim()).is_some()
    }

    /// Expands a typed prompt. Files that the model does not take are left out, with a remark.
    pub async fn expand(&self, typed: &str, model: Option<&ModelProfile>) -> ExpandedPrompt {
        let mut expanded = ExpandedPrompt::default();
        if let Some((name, arguments)) = self.server_prompt(typed) {
            match self.mcp.prompt(&self.directory, name, &split(arguments)).await {
                Ok(McpPrompt { text, attachments }) => (expanded.text, expanded.attachments) = (text, attachments),
                Err(error) => {
                    expanded.text = typed.to_owned();
                    expanded.remarks.push(format!("/{name} is sent as it was typed: {error}"));
                }
            }
            return expanded;
        }
        match self.called(typed) {
            None => {
                expanded.text = typed.to_owned();
                self.mentions(typed, true, model, &mut expanded);
            }
            Some((template, arguments)) => {
                expanded.agent = template.agent.clone();
                expanded.model = template.model.clone();
                // The commands and files are those of the template: arguments name none.
                let (text, marked) = self.with_commands(&template, &mut expanded.remarks).await;
                self.mentions(&text, template.runs_commands, model, &mut expanded);
                expanded.text = filled(&text, arguments);
                self.mentions(arguments, true, model, &mut expanded);
                for (mark, output) in marked {
                    expanded.text = expanded.text.replace(&mark, &output);
                }
            }
        }
        self.resources(typed, &mut expanded).await;
        expanded
    }

    /// Attaches the resources of MCP servers that the user names.
    async fn resources(&self, typed: &str, expanded: &mut ExpandedPrompt) {
        for name in mentioned(typed) {
            match self.mcp.mentioned(&self.directory, name).await {
                None => {}
                Some(Ok(McpPrompt { text, attachments })) => {
                    if !text.is_empty() {
                        expanded.attachments.push(text_attachment(name, &text));
                    }
                    expanded.attachments.extend(attachments);
                }
                Some(Err(error)) => expanded.remarks.push(format!("@{name} is not attached: {}", error.0)),
            }
        }
    }

    /// The text with a mark for each command in it, and what the command printed.
    async fn with_commands(
        &self,
        template: &PromptTemplate,
        remarks: &mut Vec<String>,
    ) -> (String, Vec<(String, String)>) {
        let (mut text, mut marked) = (String::new(), Vec::new());
        let mut rest = template.text.as_str();
        while let Some((before, after)) = rest.split_once("!`") {
            let Some((command, behind)) = after.split_once('`') else { break };
            text.push_str(before);
            if template.runs_commands {
                let mark = format!("\u{0}{}\u{0}", marked.len());
                text.push_str(&mark);
                marked.push((mark, self.output(command).await));
            } else {
                text.push_str(&format!("!`{command}`"));
                remarks.push(format!(
                    "/{} names a command, which is not run, because the project is not trusted; to trust it: `annals config trust`",
                    template.name
                ));
            }
            rest = behind;
        }
        text.push_str(rest);
        (text, marked)
    }

    /// What a command of a template prints, and how it ended, if it failed.
    async fn output(&self, command: &str) -> String {
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        let program = ExternalProgram { words, environment: Vec::new(), limit: LIMIT };
        match program.run(&self.directory, "").await {
            Ok(ran) => {
                let output = format!("{}{}", ran.stdout, ran.stderr);
                match ran.exit {
                    Some(0) => output.trim_end().to_owned(),
                    Some(code) => format!("{}\n(`{command}` exited with code {code})", output.trim_end()),
                    None => format!("{}\n(`{command}` was ended by a signal)", output.trim_end()),
                }
            }
            Err(error) => format!("({error})"),
        }
    }

    /// Attaches the files that a text names, and says which agents are to be given the task. `own`: whether the user is its
    /// author, or trusts who is.
    fn mentions(&self, text: &str, own: bool, model: Option<&ModelProfile>, expanded: &mut ExpandedPrompt) {
        let mut agents = Vec::new();
        for name in mentioned(text) {
            if let Some(agent) = self.subagents.iter().find(|agent| agent.as_str() == name) {
                if !agents.contains(agent) {
                    agents.push(agent.clone());
                }
                continue;
            }
            let path = self.directory.join(name);
            if !path.is_file() || expanded.attachments.len() >= FILES {
                continue;
            }
            if !own && !self.is_open(&path) {
                expanded.remarks.push(format!("@{name} is not attached: the project is not trusted"));
                continue;
            }
            match attachment(&path, name) {
                Ok(one) if model.is_some_and(|model| !is_sent(model, &one.mime)) => {
                    expanded.remarks.push(format!("@{name} is not attached: the model takes no {}", one.mime));
                }
                Ok(one) if !expanded.attachments.contains(&one) => expanded.attachments.push(one),
                Ok(_) => {}
                Err(error) => expanded.remarks.push(format!("@{name} is not attached: {error}")),
            }
        }
        for agent in agents {
            expanded.text.push_str(&format!(
                "\n\n(The user names the agent {agent}: give it this task with the tool `task`, unless the text says otherwise.)"
            ));
        }
    }

    /// Whether a template of the project may name a file without trust: one in the project that is not hidden.
    fn is_open(&self, path: &Path) -> bool {
        let real = path.canonicalize().ok();
        let root = self.directory.canonicalize().ok();
        let inside = real.as_deref().zip(root.as_deref()).and_then(|(real, root)| real.strip_prefix(root).ok());
        self.trusted
            || inside
                .is_some_and(|path| path.components().all(|part| !part.as_os_str().to_string_lossy().starts_with('.')))
    }
}

/// What follows an `@` at the beginning of a word.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    text.split(char::is_whitespace).filter_map(|word| {
        let name = word.trim_start_matches(['(', '"', '\'']).strip_prefix('@')?;
        let name = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
        (!name.is_empty()).then_some(name)
    })
}

/// A template with its arguments: `$ARGUMENTS` is all of them, `$1` the first; what is not there is empty. Without any of these
/// the arguments follow the text.
fn filled(text: &str, arguments: &str) -> String {
    let words = split(arguments);
    let (mut filled, mut rest, mut used) = (String::new(), text, false);
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        filled.push_str(before);
        let after = after.strip_prefix('$').unwrap_or_default();
        if let Some(behind) = after.strip_prefix("ARGUMENTS") {
            filled.push_str(arguments);
            (rest, used) = (behind, true);
        } else if let Some(digit) = after.chars().next().and_then(|digit| digit.to_digit(10)).filter(|digit| *digit > 0)
        {
            let at = usize::try_from(digit).unwrap_or_default() - 1;
            filled.push_str(words.get(at).map_or("", String::as_str));
            (rest, used) = (after.get(1..).unwrap_or_default(), true);
        } else {
            filled.push('$');
            rest = after;
        }
    }
    filled.push_str(rest);
    match used || arguments.is_empty() {
        true => filled,
        false => format!("{filled}\n\n{arguments}"),
    }
}

/// Words; those in quotation marks are one.
fn split(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in arguments.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, c) => word.push(c),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str, runs_commands: bool) -> PromptTemplate {
        PromptTemplate {
            name: "fix".into(),
            description: String::new(),
            agent: Some("plan".into()),
            model: None,
            text: text.into(),
            runs_commands,
        }
    }

    fn expander(folder: &Path, text: &str, trusted: bool) -> PromptExpander {
        let templates = BTreeMap::from([("fix".to_owned(), template(text, trusted))]);
        PromptExpander::new(templates, vec!["explore".into()], &folder.to_string_lossy(), trusted)
    }

    #[test]
    fn arguments_fill_their_places_or_follow_the_text() {
        assert_eq!(filled("a $ARGUMENTS b", "x y"), "a x y b");
        assert_eq!(filled("$2-$1-$3 costs $5 or $", "x 'y z'"), "y z-x- costs  or $");
        assert_eq!(filled("do it", "now"), "do it\n\nnow");
        assert_eq!(filled("do it", ""), "do it");
    }

    #[tokio::test]
    async fn a_template_is_filled_and_its_commands_run_only_with_trust() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("a.txt"), "content")?;
        let text = "Fix $1: !`echo out; exit 3` see @a.txt";
        let expanded = expander(folder.path(), text, true).expand("/fix it '!`touch x`'", None).await;
        assert_eq!(expanded.text, "Fix it: out\n(`echo out; exit 3` exited with code 3) see @a.txt");
        assert_eq!((expanded.attachments.len(), expanded.agent.as_deref()), (1, Some("plan")));
        let expanded = expander(folder.path(), text, false).expand("/fix it", None).await;
        assert_eq!(expanded.text, "Fix it: !`echo out; exit 3` see @a.txt");
        assert_eq!(expanded.remarks.len(), 1, "{:?}", expanded.remarks);
        Ok(())
    }

    #[tokio::test]
    async fn a_prompt_names_files_and_agents() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("a.txt"), "content")?;
        let expander = expander(folder.path(), "", false);
        let expanded = expander.expand("compare @a.txt, (@a.txt) and me@b.c with @absent; ask @explore.", None).await;
        assert_eq!(expanded.attachments.len(), 1);
        assert!(expanded.text.contains("(The user names the agent explore"), "{}", expanded.text);
        Ok(())
    }

    #[tokio::test]
    async fn a_template_of_an_untrusted_project_attaches_nothing_hidden() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join(".env"), "SECRET=1")?;
        let expanded = expander(folder.path(), "see @.env and @../x", false).expand("/fix", None).await;
        assert!(expanded.attachments.is_empty(), "{expanded:?}");
        Ok(())
    }
}
