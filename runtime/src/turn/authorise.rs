//! Authorisation of a call: rules first, then a question to the user; question and answer are recorded
//! (`docs/reference/permissions.md`).

use super::calls::{CallEnd, CallRunner, IssuedCall};
use crate::lane::Decision;
use crate::outcome::LogError;
use crate::permission::{Answered, PermissionQuestion};
use crate::tools::{CallError, Demand, Registered};
use annals_core::PermissionId;
use annals_core::event::{Effect, PermissionAsked, PermissionReplied, Reply};
use annals_core::permission::authorise;
use annals_projections::SessionView;

impl CallRunner {
    /// Authorises a call by the rules of the agent whose turn made it; returns what it may do.
    ///
    /// # Errors
    /// [`CallEnd::Error`] when a rule denies it or the user rejects it with feedback, which the model reads;
    /// [`CallEnd::Declined`] when the user declines it, which ends the turn.
    pub(super) async fn authorise(&self, issued: &IssuedCall, tool: &Registered) -> Result<Vec<Demand>, CallEnd> {
        let demands = tool.demands(&issued.input);
        // No question is asked about a part of a call that is denied as a whole.
        let view = self.lane.view().await?;
        if let Some(denied) = demands.iter().find(|wanted| self.judge(&view, wanted) == Effect::Deny) {
            return Err(self.denied(denied).into());
        }
        for wanted in &demands {
            self.allow(issued, wanted).await?;
        }
        Ok(demands)
    }

    /// Whether one thing that a call needs is allowed, asking where the rules say so.
    async fn allow(&self, issued: &IssuedCall, wanted: &Demand) -> Result<(), CallEnd> {
        // Subscribed before the question is asked: rules that come meanwhile are not missed.
        let mut approvals = self.approvals.subscribe();
        let before = self.lane.view().await?.cut().next;
        let asked = match self.ask(issued, wanted).await? {
            Judgement::Answered(Effect::Allow | Effect::Ask) => return Ok(()),
            Judgement::Answered(Effect::Deny) => return Err(self.denied(wanted).into()),
            Judgement::Open(permission) => permission,
        };
        let question = PermissionQuestion {
            session: self.lane.session(),
            permission: asked.clone(),
            call: issued.call.clone(),
            agent: self.agent.clone(),
            tool: issued.name.clone(),
            input: issued.input.text().into(),
            action: wanted.action.clone(),
            resources: wanted.resources.clone(),
        };
        let answer = self.shared.ports.approver.ask(question);
        let elsewhere = self.lane.reply_of(&asked, before);
        tokio::pin!(answer, elsewhere);
        loop {
            tokio::select! {
                biased;
                () = self.cancellation.cancelled() => {
                    return Err(CallError::Interrupted.into());
                }
                answered = &mut answer => {
                    return match self.answered(&asked, wanted, answered).await? {
                        Some(reply) => self.replied(&reply),
                        // Another process was faster: its answer counts.
                        None => self.replied(&elsewhere.await),
                    };
                }
                reply = &mut elsewhere => {
                    // Folded, and shown to those who look at this session here.
                    self.lane.view().await?;
                    return self.replied(&reply);
                }
                changed = approvals.changed() => {
                    if changed.is_err() || self.released(&asked, wanted).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Judges by the rules; where they say so, makes the question durable.
    async fn ask(&self, issued: &IssuedCall, wanted: &Demand) -> Result<Judgement, LogError> {
        let mut chosen: Option<PermissionId> = None;
        self.lane
            .decide(|view| {
                let effect = self.judge(view, wanted);
                if effect != Effect::Ask {
                    return Ok(Decision::nothing(Judgement::Answered(effect)));
                }
                let ports = &self.shared.ports;
                let permission = chosen.get_or_insert_with(|| ports.ids.permission(ports.clock.now())).clone();
                let asked = PermissionAsked {
                    permission: permission.clone(),
                    call: Some(issued.call.clone()),
                    agent: self.agent.clone(),
                    action: wanted.action.clone(),
                    resources: wanted.resources.clone(),
                };
                Ok(Decision::append(vec![asked.into()], Judgement::Open(permission)))
            })
            .await
    }

    /// Records an answer; `None` if the question does not wait any more.
    async fn answered(
        &self,
        permission: &PermissionId,
        wanted: &Demand,
        answered: Answered,
    ) -> Result<Option<PermissionReplied>, LogError> {
        let replied = answered.recorded(permission, &wanted.action, &wanted.resources);
        let decide = |view: &SessionView| {
            Ok(match view.permissions.waiting.contains_key(permission) {
                true => Decision::append(vec![replied.clone().into()], true),
                false => Decision::nothing(false),
            })
        };
        let is_first: bool = self.lane.decide::<_, LogError>(decide).await?;
        Ok(is_first.then_some(replied))
    }

    /// What an answer means for the call.
    fn replied(&self, replied: &PermissionReplied) -> Result<(), CallEnd> {
        if replied.reply == Reply::Always {
            self.approvals.send_modify(|replies| *replies += 1);
        }
        let blobs = self.lane.blobs();
        match (replied.reply, &replied.feedback) {
            (Reply::Once | Reply::Always, _) => Ok(()),
            (Reply::Reject, Some(why)) => Err(CallError::Rejected(why.resolve(&*blobs).into_owned()).into()),
            (Reply::Reject, None) => Err(CallEnd::Declined),
        }
    }

    /// Answers a waiting question if rules that were given in the meantime allow what it asks for.
    async fn released(&self, permission: &PermissionId, wanted: &Demand) -> Result<bool, LogError> {
        let (once, by) = (Reply::Once, "rule".to_string());
        let reply =
            PermissionReplied { permission: permission.clone(), reply: once, feedback: None, by, rules: Vec::new() };
        self.lane
            .decide(|view| {
                Ok(match self.judge(view, wanted) {
                    Effect::Allow if view.permissions.waiting.contains_key(permission) => {
                        Decision::append(vec![reply.clone().into()], true)
                    }
                    Effect::Allow | Effect::Deny | Effect::Ask => Decision::nothing(false),
                })
            })
            .await
    }

    fn judge(&self, view: &SessionView, wanted: &Demand) -> Effect {
        let resources: Vec<&str> = wanted.resources.iter().map(String::as_str).collect();
        if self.limits.deny(&wanted.action, &resources) {
            return Effect::Deny;
        }
        authorise(&self.rules, &view.permissions.rules, &wanted.action, &resources)
    }

    fn denied(&self, wanted: &Demand) -> CallError {
        let denies = |resource: &&String| {
            self.limits.deny(&wanted.action, &[resource])
                || authorise(&self.rules, &[], &wanted.action, &[resource]) == Effect::Deny
        };
        let resource = wanted.resources.iter().find(denies).map_or("*", String::as_str).into();
        CallError::Denied { action: wanted.action.clone(), resource }
    }
}

/// What the rules said, or the question that is open now.
enum Judgement {
    Answered(Effect),
    Open(PermissionId),
}
