//! The exports that go into a report: of the session, and of the sub-agents that it started.

use super::{Args, secrets};
use crate::command_context::CommandContext;
use crate::error::{CliError, ReportError};
use crate::style::counted;
use annals_core::{Seq, SessionId};
use annals_guard::redaction::Redactor;
use annals_inspect::reader::Reader;
use annals_store::exchange::{
    ExportError, Exported, VerifyReport, WithholdRule, WithholdRules, export, export_withheld, import, verify_file,
};
use annals_store::{EventLog, MemoryLog};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Exports one session after another under the rules of the command.
pub(super) struct Exporter<'a> {
    pub args: &'a Args,
    pub reader: &'a Reader,
    /// With `--redact`.
    pub redactor: Option<Arc<Redactor>>,
    /// The rules that matched a text of some session.
    matched: BTreeSet<String>,
    /// Events in which secrets were found.
    secret: u64,
    /// Events in which an expression of a rule still matches.
    pub left: Vec<Seq>,
}

impl<'a> Exporter<'a> {
    pub fn new(args: &'a Args, reader: &'a Reader, redactor: Option<Arc<Redactor>>) -> Self {
        Self { args, reader, redactor, matched: BTreeSet::new(), secret: 0, left: Vec::new() }
    }

    /// The session of the report, with every rule.
    pub async fn session(&mut self, session: SessionId, cli: &CommandContext) -> Result<Vec<u8>, CliError> {
        let log = &**self.reader.log();
        let (exported, bytes) = if self.args.only.is_empty() {
            self.withheld(session, self.args.withhold.clone()).await?
        } else {
            let (rules, mut bytes) = (WithholdRules::Only(self.args.only.clone()), Vec::new());
            (export_withheld(log, session, &rules, &mut bytes, &mut |_| {}).await?, bytes)
        };
        if exported.header.keys.is_none() {
            cli.remark(&exported.texts.to_string());
        }
        Ok(bytes)
    }

    /// A sub-agent, with the rules that mean the same in every session.
    pub async fn subagent(&mut self, session: SessionId) -> Result<Vec<u8>, CliError> {
        let rules = self.args.withhold.iter().filter(|rule| rule.is_general()).cloned().collect();
        Ok(self.withheld(session, rules).await?.1)
    }

    /// A rule that matches nothing here may match in another session of the report.
    async fn withheld(
        &mut self,
        session: SessionId,
        mut rules: Vec<WithholdRule>,
    ) -> Result<(Exported, Vec<u8>), CliError> {
        let log = &**self.reader.log();
        if let Some(redactor) = &self.redactor {
            let found = secrets::rules(redactor, self.reader, session).await?;
            self.secret += found.events;
            rules.extend(found.rules);
        }
        loop {
            let mut bytes = Vec::new();
            if rules.is_empty() {
                return Ok((export(log, session, &mut bytes, &mut |_| {}).await?, bytes));
            }
            let withheld = WithholdRules::Withhold(rules.clone());
            match export_withheld(log, session, &withheld, &mut bytes, &mut |_| {}).await {
                Ok(exported) => {
                    self.left.extend(exported.left.iter().copied());
                    self.matched.extend(rules.iter().map(|rule| rule.written().to_owned()));
                    return Ok((exported, bytes));
                }
                Err(ExportError::NoMatch { rule, .. }) => rules.retain(|one| one.written() != rule),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says what was withheld as a secret.
    ///
    /// # Errors
    /// When a rule matched no text of any session: more would be given away than was meant.
    pub fn end(&self, session: SessionId, cli: &CommandContext) -> Result<(), CliError> {
        if let Some(rule) = self.args.withhold.iter().find(|rule| !self.matched.contains(rule.written())) {
            return Err(ExportError::NoMatch { rule: rule.written().to_owned(), session }.into());
        }
        if self.redactor.is_some() {
            cli.remark(&match self.secret {
                0 => "no secret was found".to_owned(),
                count => format!("secrets were found in {}; their texts are withheld", counted(count, "event")),
            });
        }
        Ok(())
    }
}

/// An export, and the log that was read from it: what a report shows comes from nothing else.
pub(super) struct ProvedExport {
    pub verified: VerifyReport,
    pub reader: Reader,
}

impl ProvedExport {
    pub async fn read_back(bytes: &[u8], name: &str) -> Result<Self, CliError> {
        let verified = verify_file(&mut &*bytes, None, &mut |_| {})?;
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        import(&*log, &mut &*bytes, &mut |_| {}).await.map_err(|error| ReportError::ReadBack(Box::new(error)))?;
        Ok(Self { verified, reader: Reader::new(log, None, name.into()) })
    }
}
