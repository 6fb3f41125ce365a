//! The questions, and how each may grow with the session.

use annals_core::Seq;
use annals_index::{IndexPlace, IndexReader, SqlTables};
use annals_inspect::cache::Asking;
use annals_inspect::file_history::FileHistory;
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::{FindError, Reader};
use annals_inspect::search::{SearchIndex, SearchPattern, SearchQuery};
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_inspect::{SessionAt, bisect, certify};
use annals_providers::catalog::Catalog;
use annals_store::exchange::{export, verify_session};

/// How something may grow when the session has four times the events.
#[derive(Clone, Copy, Debug)]
pub enum Growth {
    /// Not at all.
    Flat,
    /// With the records that are read: how many there are between a saved view and the place depends on where views were saved.
    PerRecord,
    /// With the number of events.
    Linear,
}

impl Growth {
    /// The most, in tenths.
    pub fn tenths(self) -> u64 {
        match self {
            Self::Flat | Self::PerRecord => 13,
            Self::Linear => 45,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Question {
    Show,
    Seen,
    Usage,
    Safety,
    Statistics,
    Requests,
    Rebuilt,
    Why,
    WhyText,
    When,
    WhenCommon,
    DiffViews,
    TranscriptBegin,
    Transcript,
    Timeline,
    Compactions,
    Cache,
    CacheLast,
    Prove,
    Bisect,
    Certify,
    Audit,
    Log,
    Verify,
    Export,
    Context,
    Sessions,
    SearchNothing,
    SearchWord,
    SearchScan,
    Sql,
    Files,
}

/// Each question, and how the records that it reads and the bytes that it allocates may grow.
pub const QUESTIONS: [(Question, Growth, Growth); 32] = {
    use Growth::{Flat, Linear, PerRecord};
    [
        (Question::Show, Flat, Flat),
        // A saved view lists every request.
        (Question::Seen, Flat, Linear),
        (Question::Usage, Flat, Flat),
        (Question::Safety, Flat, Flat),
        // Ids that were used are part of the saved counts, and marks of requests of the saved list.
        (Question::Statistics, Flat, Linear),
        (Question::Requests, Flat, Linear),
        (Question::Rebuilt, Flat, Linear),
        (Question::Why, Flat, Linear),
        (Question::WhyText, Flat, Linear),
        // All events that change what the model sees are read.
        (Question::When, Linear, Linear),
        (Question::WhenCommon, Linear, Linear),
        (Question::DiffViews, Flat, PerRecord),
        (Question::TranscriptBegin, Flat, Flat),
        (Question::Transcript, Linear, Linear),
        (Question::Timeline, Linear, Linear),
        // The list itself is what grows.
        (Question::Compactions, Flat, Linear),
        (Question::Cache, Linear, Linear),
        (Question::CacheLast, Flat, Linear),
        (Question::Prove, Linear, Linear),
        (Question::Bisect, Linear, Linear),
        (Question::Certify, Linear, Linear),
        (Question::Audit, Linear, Linear),
        (Question::Log, Linear, Linear),
        (Question::Verify, Linear, Linear),
        // What it writes goes to no memory.
        (Question::Export, Linear, Linear),
        // The same saved view as of every look at the newest place.
        (Question::Context, Flat, Linear),
        // With the number of sessions, not with their events.
        (Question::Sessions, Flat, Flat),
        // The index says that there is none.
        (Question::SearchNothing, Flat, Flat),
        // The index names every event that has the word; each is read, so that the answer says how many there are.
        (Question::SearchWord, Linear, Linear),
        (Question::SearchScan, Linear, Linear),
        // What SQLite reads of its file is not counted, only that nothing is read of the log.
        (Question::Sql, Flat, Flat),
        (Question::Files, Linear, Linear),
    ]
};

/// Enough was seen, or the log cannot be read.
#[derive(Debug)]
enum Stopped {
    Enough,
    Failed,
}

impl From<FindError> for Stopped {
    fn from(_: FindError) -> Self {
        Self::Failed
    }
}

impl Question {
    /// Asks it, and looks at the answer.
    pub async fn ask(self, past: &SessionAt, reader: &Reader, place: &IndexPlace) {
        let last = Seq(past.until.0 - 1);
        match self {
            Self::Show => assert!(past.log().batch_at(past.session, Seq(past.until.0 / 2)).await.unwrap().is_some()),
            Self::Seen => assert!(past.seen(past.until).await.unwrap().history.selected().next().is_some()),
            Self::Usage => assert!(past.usage().await.unwrap().total.attempts > 0),
            Self::Safety => assert!(past.safety(&|directory| directory.into()).await.unwrap().calls > 100),
            Self::Statistics => assert_eq!(past.statistics().await.unwrap().events, past.until.0),
            Self::Requests => assert!(past.requests().await.unwrap().iter().count() > 0),
            Self::Rebuilt => {
                let count = past.requests().await.unwrap().len();
                assert!(past.rebuilt_request(count).await.unwrap().is_proved());
            }
            Self::Why => assert!(past.why(None, None).await.unwrap().of > 0),
            Self::WhyText => assert!(!past.why(None, Some("Prompt")).await.unwrap().spans.is_empty()),
            Self::When => assert_eq!(past.when("Prompt 101:").await.unwrap().sightings.len(), 1),
            Self::WhenCommon => assert!(past.when("Prompt").await.unwrap().sightings.len() > 100),
            Self::DiffViews => assert!(!past.diff_views(Seq(last.0 - 100)).await.unwrap().is_empty()),
            Self::TranscriptBegin => assert_eq!(messages(past, reader, 40).await, 40),
            Self::Transcript => assert!(messages(past, reader, usize::MAX).await > 300),
            Self::Timeline => {
                let mut entries = 0;
                past.timeline(|_| entries += 1).await.unwrap();
                assert!(entries > 1_000);
            }
            Self::Compactions => assert!(past.compactions().await.unwrap().len() > 3),
            Self::Cache => assert!(cache(past, None).await > 500),
            Self::CacheLast => assert_eq!(cache(past, Some(10)).await, 10),
            Self::Prove => {
                let proofs = past.prove(false).await.unwrap();
                assert!(proofs.len() > 500 && proofs.iter().all(|proof| proof.flaw.is_none()));
            }
            Self::Bisect => {
                let wanted = past.until.0 * 2 / 3;
                let holds = move |views: &serde_json::Value| {
                    let newest = views["history"].as_array().and_then(|list| list.last()?["seq"].as_u64());
                    newest.is_some_and(|seq| seq >= wanted)
                };
                let judge = bisect::Judge::Where { holds: Box::new(holds), views: vec!["history"] };
                assert!(past.bisect(Seq(1), last, &judge).await.unwrap().bad.0 >= wanted);
            }
            Self::Certify => {
                assert_eq!(certify::certify(reader.log(), "memory").await.unwrap().len(), 1);
            }
            Self::Audit => assert!(past.audit().await.unwrap().is_clean()),
            Self::Log => {
                let mut events = 0;
                past.each(Seq::ZERO, past.until, |_| events += 1).await.unwrap();
                assert_eq!(events, past.until.0);
            }
            Self::Verify => {
                assert!(verify_session(past.log(), past.session, None, &mut |_| {}).await.unwrap().is_sound());
            }
            Self::Export => {
                let exported = export(past.log(), past.session, &mut std::io::sink(), &mut |_| {}).await.unwrap();
                assert!(exported.bytes > past.until.0);
            }
            Self::Context => {
                let view = reader.bounded(past.session, past.until).await.unwrap();
                assert!(view.epochs.current.is_some());
            }
            Self::Sessions => {
                let catalogue = reader.catalogue().await.unwrap();
                let pricing = Pricing::new(Catalog::default());
                assert_eq!(list(catalogue, &SessionFilter::default(), SessionOrder::default(), &pricing).len(), 1);
            }
            Self::SearchNothing => assert_eq!(matches(reader, "zzqqy", Some(place)).await, 0),
            Self::SearchWord => assert_eq!(matches(reader, "Prompt", Some(place)).await, 50),
            Self::SearchScan => assert_eq!(matches(reader, "zzqqy", None).await, 0),
            Self::Sql => {
                let tables = SqlTables::open(&**reader.log(), Some(place)).await.unwrap();
                let mut rows = 0;
                let query = "select model, count(*) from requests group by model";
                tables
                    .query(query, |_, _| {
                        rows += 1;
                        Ok(())
                    })
                    .unwrap();
                assert!(rows > 0);
            }
            Self::Files => {
                let history = FileHistory::before(past, past.until).await.unwrap();
                assert!(!history.directory.is_empty());
            }
        }
    }
}

async fn cache(past: &SessionAt, last: Option<usize>) -> usize {
    past.cache(Asking { last, ttl_ms: 300_000 }).await.unwrap().requests.len()
}

/// How many of at most fifty matches a search shows.
async fn matches(reader: &Reader, words: &str, place: Option<&IndexPlace>) -> u64 {
    let pattern = SearchPattern::parse(words, &[]).unwrap();
    let query = SearchQuery { pattern, limit: Some(50), ..SearchQuery::default() };
    let index = place.map(|place| IndexReader::open(place).unwrap());
    let index = index.as_ref().map(|index| index as &dyn SearchIndex);
    reader.search::<FindError>(&query, index, |_| Ok(())).await.unwrap().shown
}

/// Visits so many messages of the transcript; gives how many there were.
async fn messages(past: &SessionAt, reader: &Reader, most: usize) -> usize {
    let mut count = 0;
    let visit = |_: &_| {
        count += 1;
        if count < most { Ok(()) } else { Err(Stopped::Enough) }
    };
    let visited = reader.each_message(past.session, past.until, visit).await;
    assert!(matches!(visited, Ok(()) | Err(Stopped::Enough)), "{visited:?}");
    count
}
