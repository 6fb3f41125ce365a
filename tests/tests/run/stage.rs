//! A host over a log in memory, with a scripted model and one tool that needs permission, and what it showed.

use annals_cli::app::{Remarks, Style};
use annals_cli::testing::{CommandContext, Frontend, Interaction, Screen, TypedLine, TypedLines, run_interactive};
use annals_core::event::Location;
use annals_core::{Seq, Time};
use annals_host::{ApprovalMode, Host, StoreChoice};
use annals_inspect::reader::Reader;
use annals_projections::SessionView;
use annals_runtime::host::{HostParts, JsonLines, Lease, QuestionSender, RunEnd, RunGoal, ServicesAt};
use annals_runtime::ports::SystemClock;
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::subagents::Subagents;
use annals_runtime::testing::{ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput, ToolRegistry};
use annals_runtime::{NewInput, NewSession, Session, Settings};
use annals_store::disk::StorePath;
use annals_store::{EventLog, MemoryLog};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// stdout and stderr are a terminal.
    Terminal,
    /// Neither is.
    Nobody,
    /// `--json`.
    Program,
}

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Collected {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One tool at every location.
struct Looking;

impl ServicesAt for Looking {
    fn services(&self, _: &Location, tools: ToolRegistry, _: &StorePath) -> LocationServices {
        let style = FunctionTool::new("look", "Looks.", &json!({"type": "object"}), |_: Value, _| async {
            Ok(ToolOutput::text("one\ntwo\nthree"))
        });
        tools.register([Arc::new(style) as Arc<dyn Tool>]).expect("one tool").detach();
        LocationServices { tools, ..LocationServices::default() }
    }
}

/// A host and what it showed.
pub struct Theatre {
    log: Arc<MemoryLog>,
    folder: Arc<tempfile::TempDir>,
    host: Host,
    session: Session,
    stage: Interaction,
    typed: mpsc::UnboundedSender<TypedLine>,
    out: Collected,
    remarks: Collected,
}

impl Theatre {
    /// A Session of its own.
    pub async fn new(script: Vec<ScriptedAttempt>, watching: Watching, manner: ApprovalMode) -> Self {
        let (log, folder) = (Arc::new(MemoryLog::new()), Arc::new(tempfile::tempdir().expect("a folder")));
        let host = |equipment| equipment;
        let new = NewSession::at("/", "build", "demo/one");
        Self::at(log, folder, script, watching, manner, host, Some(new)).await
    }

    async fn at(
        log: Arc<MemoryLog>,
        folder: Arc<tempfile::TempDir>,
        script: Vec<ScriptedAttempt>,
        watching: Watching,
        manner: ApprovalMode,
        adapt: impl FnOnce(HostParts) -> HostParts,
        new: Option<NewSession>,
    ) -> Self {
        let (out, remarks) = (Collected::default(), Collected::default());
        let style = Style { width: 80, colour: false, json: false, markdown: false, zone: TimeZone::UTC, now: Time(0) };
        let watched = watching == Watching::Terminal;
        // On a terminal both are seen as one.
        let beside = if watched { out.clone() } else { remarks.clone() };
        let writer = Remarks::new(Box::new(beside), style.clone(), watched);
        let place = StoreChoice::of(Some(folder.path()), None).expect("a place");
        let cli = CommandContext::new(place, None, None, style.clone(), writer.clone());
        let (put, questions) = QuestionSender::channel();
        let equipment = adapt(HostParts {
            approver: Arc::new(put),
            provider: Arc::new(ScriptedProvider::new(script)),
            definitions: Arc::new(FixedDefinitions::default().model(bare_model(&"demo/one".into(), 100_000, 4_000))),
            settings: Settings::default(),
            services_at: Arc::new(Looking),
            subagents: Subagents::new(Vec::new()),
            clock: Arc::new(SystemClock::local()),
        });
        let reader = Reader::new(log.clone(), None, folder.path().to_owned());
        let host = Host::open(&cli, reader, equipment).expect("a host");
        let session = match new {
            Some(new) => host.runtime.create(new).await.expect("a Session"),
            None => {
                let all = log.sessions().all().await.expect("a list");
                host.session(all.first().expect("one").session).await.expect("a Session")
            }
        };
        let show = match watching {
            Watching::Program => Frontend::Json(JsonLines::default()),
            Watching::Terminal | Watching::Nobody => Frontend::Screen(Box::new(Screen::new(writer, style, watched))),
        };
        let (typed, lines) = mpsc::unbounded_channel();
        let mut stage = Interaction::new(&cli.terminal(), &host, questions, show, manner, TypedLines::arriving(lines))
            .expect("a stage");
        let view = session.view().await.expect("a view");
        stage.show.begin(&view, &mut out.clone()).expect("a beginning");
        Self { log, folder, host, session, stage, typed, out, remarks }
    }

    /// The same log, looked at by another process.
    pub fn another_process(&self, script: Vec<ScriptedAttempt>) -> Guest {
        Guest { log: self.log.clone(), folder: self.folder.clone(), script, theatre: None }
    }

    /// The right to run the session.
    pub async fn lease(&self) -> Arc<Lease> {
        self.host.leases.take(self.session.id()).await.expect("a folder").expect("nobody else")
    }

    /// Lines that a person types.
    pub fn types<'a>(&self, lines: impl IntoIterator<Item = &'a str>) {
        for line in lines {
            self.typed.send(TypedLine::text(line)).expect("somebody reads");
        }
    }

    /// Gives a prompt and waits for the end.
    pub async fn play(&mut self, prompt: &str) -> RunEnd {
        self.stage.show.typed("typed".into());
        self.session.admit(NewInput::steer(prompt).named("typed")).await.expect("admitted");
        run_interactive(&self.host, &self.session, RunGoal::Answer, &mut self.stage, &mut self.out.clone())
            .await
            .expect("shown")
    }

    /// Runs the session and shows nothing.
    pub async fn run(&self) {
        self.session.run().await.expect("an answer");
    }

    /// The session as it is.
    pub async fn view(&self) -> Arc<SessionView> {
        self.session.view().await.expect("a view")
    }

    /// What stood on stdout.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// What stood on stderr.
    pub fn remarks(&self) -> String {
        self.remarks.text()
    }

    /// What a terminal was given, with what steers it shown by name.
    pub fn shown(&self) -> String {
        self.out.text().replace("\x1b[1A\x1b[2K\r", "[over the line above] ")
    }

    /// The log, as JSON lines.
    pub async fn events(&self) -> String {
        let slices = self.log.read(self.session.id(), Seq::ZERO, 1_000).await.expect("a log");
        let events = slices.iter().flat_map(|slice| slice.records()).map(|record| record.event.to_json().to_string());
        events.collect::<Vec<_>>().join("\n")
    }
}

/// Another process on the same log.
pub struct Guest {
    log: Arc<MemoryLog>,
    folder: Arc<tempfile::TempDir>,
    script: Vec<ScriptedAttempt>,
    theatre: Option<Theatre>,
}

impl Guest {
    /// Admits a prompt; gives its id.
    pub async fn admitted(&mut self, prompt: &str) -> String {
        let script = std::mem::take(&mut self.script);
        let (log, folder) = (self.log.clone(), self.folder.clone());
        let theatre =
            Theatre::at(log, folder, script, Watching::Nobody, ApprovalMode::Deny, |equipment| equipment, None).await;
        theatre.session.admit(NewInput::steer(prompt).named("from elsewhere")).await.expect("admitted");
        self.theatre = Some(theatre);
        "from elsewhere".into()
    }

    /// Shows the session until what was admitted is done.
    pub async fn follow(&mut self) -> RunEnd {
        let theatre = self.theatre.as_mut().expect("something was admitted");
        run_interactive(&theatre.host, &theatre.session, RunGoal::Answer, &mut theatre.stage, &mut theatre.out.clone())
            .await
            .expect("shown")
    }

    /// What stood on its stdout.
    pub fn out(&self) -> String {
        self.theatre.as_ref().map(Theatre::out).unwrap_or_default()
    }
}
