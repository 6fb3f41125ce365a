//! One Session of OpenCode's V2 core: rows in, Batches out. What a row means is said in `v2.rs`.

use super::super::foreign::{Notes, Object};
use super::super::reading::{Desk, Item, Recalled, Script, Stopped};
use super::epochs::Epochs;
use super::info::Info;
use super::projection::Beside;
use super::rows::Row;
use super::v2::{Place, State, timestamp};
use annals_core::event::SnapshotAdvanced;
use annals_core::{AgentName, Time};

/// The form in `origin`.
pub const FORM: &str = "v2-events";

/// A Session that is being read.
pub struct Log {
    foreign: String,
    beside: Beside,
    state: State,
    epochs: Epochs,
    begun: Option<Begun>,
    /// Seq and time of the row before.
    previous: Option<(u64, Time)>,
}

struct Begun {
    script: Script,
    recalled: Recalled,
}

impl Log {
    /// A Session, what stands beside its log, and the seq of its last `context.updated`.
    pub fn new(foreign: &str, mut beside: Beside, last_update: Option<u64>) -> Self {
        let epochs = Epochs::new(beside.epoch.take(), last_update);
        Self { foreign: foreign.to_owned(), beside, state: State::default(), epochs, begun: None, previous: None }
    }

    /// Maps one row.
    pub fn row(&mut self, desk: &mut Desk<'_>, row: &Row<'_>, notes: &Notes) -> Result<(), Stopped> {
        let expected = self.previous.map_or(0, |(seq, _)| seq + 1);
        let session = self.begun.as_ref().map(|begun| begun.script.session);
        if row.seq < expected {
            return desk.damaged(session, row.line, "a row whose seq was there before");
        }
        let Ok(data) = Object::parse(row.data, row.kind, notes) else {
            return desk.damaged(session, row.line, "a row whose data is no object");
        };
        let at = timestamp(&data);
        if self.begun.is_none() {
            let created = row.kind == "session.created";
            let info =
                if created { data.object("info").map(|info| Info::read(&info)) } else { self.beside.info.clone() };
            let mut info = info.unwrap_or_default();
            if info.created == 0 {
                info.created = at.unwrap_or_default().0;
            }
            info.id.clone_from(&self.foreign);
            self.begin(desk, row.line, info)?;
            if created {
                data.skip(&["sessionID"]);
                drop(data);
                self.previous = Some((row.seq, Time(self.state.info.created)));
                return self.tell(desk, row, notes);
            }
            desk.damaged(self.session(), row.line, "the beginning of the log is missing")?;
        } else if row.seq > expected {
            desk.damaged(self.session(), row.line, "rows before this one are missing")?;
        }
        let previous = self.previous.unwrap_or_default();
        let at = at.unwrap_or(previous.1);
        let Some(Begun { script, recalled }) = &mut self.begun else { return Ok(()) };

        if row.kind == "session.next.prompted" {
            self.epochs.promoting(previous.0);
        }
        let agent = AgentName(self.state.info.agent.clone().unwrap_or_else(|| "build".into()));
        let location = self.state.info.location();
        if let Some((time, epoch)) = self.epochs.before(previous, script.next(), recalled, &agent, &location, notes) {
            script.batch(desk, row.line, time, vec![epoch.into()])?;
        }
        let next = script.next();
        let advance = match recalled.advances.get(&next) {
            Some(advance) if next < recalled.head => advance.clone(),
            _ => SnapshotAdvanced { set: self.epochs.snapshot_after(row.seq).unwrap_or_default(), removed: Vec::new() },
        };
        match self.state.map(row.kind, &data, Place { next, at, advance }) {
            Some(events) => {
                script.batch(desk, row.line, at, events)?;
                drop(data);
            }
            None => {
                drop(data);
                notes.take();
                notes.add(format!("{}: not understood", row.kind));
            }
        }
        if row.kind == "session.next.compaction.ended" {
            self.epochs.compacted(row.seq);
        }
        self.previous = Some((row.seq, at));
        self.tell(desk, row, notes)
    }

    fn begin(&mut self, desk: &mut Desk<'_>, line: u64, info: Info) -> Result<(), Stopped> {
        let session = info.session(desk.editions);
        let (title, origin) = (info.title.clone(), info.origin(FORM));
        (desk.send)(Item::Began { session, title, origin })?;
        for what in std::mem::take(&mut self.beside.unsound) {
            desk.damaged(Some(session), 0, what)?;
        }
        let recalled = (desk.recall)(session);
        let mut script = Script::new(session);
        script.batch(desk, line, Time(info.created), vec![info.creation(desk.editions, FORM).into()])?;
        self.state.info = info;
        self.begun = Some(Begun { script, recalled });
        Ok(())
    }

    fn session(&self) -> Option<annals_core::SessionId> {
        self.begun.as_ref().map(|begun| begun.script.session)
    }

    fn tell(&self, desk: &mut Desk<'_>, row: &Row<'_>, notes: &Notes) -> Result<(), Stopped> {
        match self.session() {
            Some(session) => desk.lost(session, row.line, notes, row.data),
            None => Ok(()),
        }
    }
}
