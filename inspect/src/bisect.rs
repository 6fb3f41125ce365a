//! The first cut at which something holds: a binary search, each probe a fold onwards from the last place where it did
//! not hold. What only grows (requests, events) is made once, and each probe looks at the part before its cut.

mod folded;

pub use folded::{FoldPredicate, ask_fold};

use super::{AskError, Fact, SessionAt, views};
use annals_core::{Record, Seq};
use annals_projections::{Messages, Projection, SessionView};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;
use std::process::{Command, Stdio};

/// What is looked for in the views at a cut.
pub enum Judge {
    /// A predicate over the JSON of some views, by their names.
    Where {
        /// Whether it holds for the views, given as an object by name.
        holds: Box<dyn Fn(&Value) -> bool + Send + Sync>,
        /// The views that it reads ([`views::NAMES`]).
        views: Vec<&'static str>,
    },
    /// A command that gets the views as JSON on stdin. Exit status 0 means good, 125 undecided, any other
    /// up to 127 bad: as for `git bisect run`.
    Command {
        /// Program and arguments.
        words: Vec<String>,
    },
}

/// The first cut where it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BisectResult {
    /// The last cut where it does not hold: everything before this Seq.
    pub good: Seq,
    /// The first cut where it holds.
    pub bad: Seq,
    /// What landed between the two: one batch.
    pub facts: Vec<Fact>,
    /// How many cuts were looked at.
    pub probes: u64,
    /// How many records were folded for them, in addition to the saved view that the search began from.
    pub folded: u64,
}

impl Judge {
    fn views(&self) -> &[&'static str] {
        match self {
            Self::Where { views, .. } => views,
            Self::Command { .. } => &views::NAMES,
        }
    }

    fn holds(&self, views: &Value) -> Result<bool, AskError> {
        match self {
            Self::Where { holds, .. } => Ok(holds(views)),
            Self::Command { words } => run(words, views),
        }
    }
}

fn run(words: &[String], views: &Value) -> Result<bool, AskError> {
    let command = words.join(" ");
    let failed = |outcome: String| AskError::Judge { command: command.clone(), outcome };
    let (program, arguments) = words.split_first().ok_or_else(|| failed("names no program".to_owned()))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        match serde_json::to_writer(&mut stdin, views).map_err(std::io::Error::from).and_then(|()| stdin.flush()) {
            // A command may know enough before it has read all.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                return Err(failed(format!("could not read the views: {error}")));
            }
            _ => {}
        }
    }
    let status = child.wait().map_err(|error| failed(format!("could not be waited for: {error}")))?;
    match status.code() {
        Some(0) => Ok(false),
        Some(125) => Err(failed("gave no verdict (exit status 125)".to_owned())),
        Some(1..=127) => Ok(true),
        _ => Err(failed(format!("ended with {status}"))),
    }
}

/// A place in the search: a cut, its view, and its messages if the judge looks at the transcript.
struct Place {
    cut: Seq,
    view: SessionView,
    messages: Option<Messages>,
}

/// A view that only grows, up to the bad end.
struct Grown {
    name: &'static str,
    places: Vec<Seq>,
    items: Vec<Value>,
}

/// Finds the first cut between `good` and `bad` where it holds. Both name an event; the cut is the one after its batch.
///
/// # Errors
/// When it holds at `good` already or not at `bad`, a judge fails, or the log cannot be read.
pub async fn ask(past: &SessionAt, good: Seq, bad: Seq, judge: &Judge) -> Result<BisectResult, AskError> {
    let (good, bad) = ends(past, good, bad).await?;
    let mut search = Search { past, judge, grown: Vec::new(), probes: 0, folded: 0 };
    let mut low = search.begin(good, bad).await?;
    if search.holds(&low)? {
        return Err(already(good));
    }
    let high = search.onwards(&low, bad).await?;
    if !search.holds(&high)? {
        return Err(not_yet(bad));
    }
    let mut high = high.cut;
    while let Some(middle) = between(past, low.cut, high).await? {
        let place = search.onwards(&low, middle).await?;
        if search.holds(&place)? {
            high = place.cut;
        } else {
            low = place;
        }
    }
    let mut facts = Vec::new();
    past.each(low.cut, high, |record: &Record<'_>| facts.push(Fact::of(record, past.session))).await?;
    Ok(BisectResult { good: low.cut, bad: high, facts, probes: search.probes, folded: search.folded })
}

/// The cuts after two events, the first of which must be earlier.
async fn ends(past: &SessionAt, good: Seq, bad: Seq) -> Result<(Seq, Seq), AskError> {
    let (good, bad) = (past.cut_after(good).await?, past.cut_after(bad).await?);
    match good < bad {
        true => Ok((good, bad)),
        false => Err(AskError::Ends {
            what: "--good must be an earlier event than --bad, and not written together with it".to_owned(),
        }),
    }
}

fn already(good: Seq) -> AskError {
    let what = format!("the condition is already true after --good (event {})", good.0.saturating_sub(1));
    AskError::Ends { what }
}

fn not_yet(bad: Seq) -> AskError {
    AskError::Ends { what: format!("the condition is not true after --bad (event {})", bad.0.saturating_sub(1)) }
}

/// A Cut strictly between two others, near the middle; `None` when one batch is all that lies between them.
async fn between(past: &SessionAt, low: Seq, high: Seq) -> Result<Option<Seq>, AskError> {
    let middle = Seq(low.0 + (high.0 - low.0) / 2);
    let after = past.cut_after(middle).await?;
    if after < high {
        return Ok(Some(after));
    }
    let slice = past.log().batch_at(past.session, middle).await?;
    Ok(slice.map(|slice| slice.batch.first).filter(|before| *before > low && *before < high))
}

struct Search<'a> {
    past: &'a SessionAt,
    judge: &'a Judge,
    grown: Vec<Grown>,
    probes: u64,
    folded: u64,
}

impl Search<'_> {
    /// The good end: the nearest saved view and the rest. What no saved view holds is read from the start, once.
    async fn begin(&mut self, good: Seq, bad: Seq) -> Result<Place, AskError> {
        let mut messages = None;
        for name in self.judge.views() {
            match *name {
                "requests" | "events" => {
                    let (places, items) = views::list(self.past, bad, name).await?.into_iter().unzip();
                    self.grown.push(Grown { name, places, items });
                    self.folded += bad.0;
                }
                "transcript" => {
                    let mut folded = Messages::default();
                    self.past
                        .each(Seq::ZERO, good, |record| {
                            folded.apply(record);
                        })
                        .await?;
                    messages = Some(folded);
                    self.folded += good.0;
                }
                _ => {}
            }
        }
        Ok(Place { cut: good, view: self.past.seen(good).await?, messages })
    }

    fn holds(&mut self, place: &Place) -> Result<bool, AskError> {
        self.probes += 1;
        let blobs = self.past.blobs();
        let mut all = Map::new();
        for name in self.judge.views() {
            let view = match (*name, &place.messages) {
                ("requests" | "events", _) => continue,
                ("transcript", Some(messages)) => place.view.transcript.page_json(messages, blobs),
                (name, _) => views::folded(&place.view, name, blobs),
            };
            all.insert((*name).to_owned(), view);
        }
        // Lists are lent up to the cut and taken back: they may be as large as the log.
        let mut later = Vec::new();
        for grown in &mut self.grown {
            let before = grown.places.partition_point(|seq| *seq < place.cut);
            later.push(grown.items.split_off(before.min(grown.items.len())));
            all.insert(grown.name.to_owned(), Value::Array(std::mem::take(&mut grown.items)));
        }
        let mut all = Value::Object(all);
        let verdict = self.judge.holds(&all);
        for (grown, later) in self.grown.iter_mut().zip(later) {
            if let Some(Value::Array(items)) = all.get_mut(grown.name).map(Value::take) {
                grown.items = items;
            }
            grown.items.extend(later);
        }
        verdict
    }

    async fn onwards(&mut self, from: &Place, until: Seq) -> Result<Place, AskError> {
        let (mut view, mut messages) = (from.view.clone(), from.messages.clone());
        self.folded += until.0.saturating_sub(from.cut.0);
        self.past
            .each(from.cut, until, |record| {
                view.apply(record);
                if let Some(messages) = &mut messages {
                    messages.apply(record);
                }
            })
            .await?;
        if view.is_stale() {
            view = self.past.view(until).await?;
        }
        Ok(Place { cut: until, view, messages })
    }
}
