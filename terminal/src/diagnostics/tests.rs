use super::*;
use std::error::Error;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

type Tested = Result<(), Box<dyn Error>>;

#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn hearing() -> (Diagnostics, Collected) {
    let shown = Collected::default();
    let style = crate::style::Style {
        width: 80,
        colour: false,
        json: false,
        markdown: false,
        zone: jiff::tz::TimeZone::UTC,
        now: annals_core::Time(0),
    };
    let state = ReporterState {
        sink: Sink::Remarks(Remarks::new(Box::new(shown.clone()), style, false)),
        redactor: ReportRedactor::Given(Some(Arc::new(
            Redactor::default().with_variable("TOKEN", "correct-horse-battery"),
        ))),
        file: None,
        waiting: Vec::new(),
        reported: BTreeMap::new(),
    };
    (Diagnostics(Some(Arc::new(Reporter { verbose: false, state: Mutex::new(state) }))), shown)
}

fn report(target: &'static str, message: &str) -> Diagnostic {
    Diagnostic { level: Level::WARN, target, line: 7, message: message.into(), fields: Vec::new() }
}

fn text(shown: &Collected) -> String {
    String::from_utf8_lossy(&shown.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

#[test]
fn a_report_is_one_line_without_secrets_and_without_what_steers_a_terminal() {
    let (diagnostics, shown) = hearing();
    let shared = diagnostics.0.as_ref().expect("it hears");
    let mut reported = report("annals_runtime::tools", "the tool said\n\x1b[2Jcorrect-horse-battery");
    reported.fields.push(("call", "c1\u{7}".into()));
    shared.report(&reported);
    assert_eq!(text(&shown), "annals: warning: the tool said ␛[2J[redacted:env:TOKEN] (call: c1␇)\n");
}

#[test]
fn many_reports_of_one_place_are_a_few_lines_and_all_are_kept() -> Tested {
    let (store, (diagnostics, shown)) = (tempfile::tempdir()?, hearing());
    let shared = diagnostics.0.as_ref().expect("it hears");
    shared.report(&report("annals_store::disk", "early"));
    diagnostics.keep_in(store.path());
    (0..20).for_each(|n| shared.report(&report("annals_store::disk::reading", &format!("damage {n}"))));
    shared.report(&report("annals_runtime::coordinator", "a run failed"));
    let lines: Vec<String> = text(&shown).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[3].ends_with("damage 2 (further ones of this kind are not shown)"), "{lines:?}");
    let kept = std::fs::read_to_string(store.path().join("annals.log"))?;
    assert_eq!(kept.lines().count(), 22, "{kept}");
    assert!(kept.lines().next().is_some_and(|line| line.ends_with(" WARN annals_store::disk early")), "{kept}");
    assert_eq!(diagnostics.written(), Some(store.path().join("annals.log")));
    Ok(())
}

#[test]
fn who_redirects_them_gets_them_until_it_is_gone() {
    let (diagnostics, shown) = hearing();
    let shared = diagnostics.0.as_ref().expect("it hears");
    let (redirected, mut arriving) = diagnostics.redirect();
    shared.report(&report("annals_runtime::a", "one"));
    assert_eq!(arriving.try_recv().ok().as_deref(), Some("warning: one"));
    drop(redirected);
    shared.report(&report("annals_runtime::b", "two"));
    assert_eq!(text(&shown), "annals: warning: two\n");
}

#[test]
fn the_file_is_private_bounded_and_made_with_its_first_line() -> Tested {
    let store = tempfile::tempdir()?;
    let mut file = LogFile::in_store(store.path()).limited(400);
    assert!(!file.path().exists() && !file.was_written());
    (0..100).for_each(|n| file.append(&format!("line {n}")));
    let newest = std::fs::read_to_string(file.path())?;
    assert!(newest.len() <= 400 && newest.ends_with("line 99\n"), "{newest}");
    assert!(std::fs::metadata(store.path().join("annals.log.1"))?.len() <= 400);
    assert_eq!(std::fs::metadata(file.path())?.permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(store.path())?.count(), 2);
    Ok(())
}

#[test]
fn a_link_or_a_folder_that_is_not_there_is_left_alone() -> Tested {
    let (store, elsewhere) = (tempfile::tempdir()?, tempfile::tempdir()?);
    symlink(elsewhere.path().join("target"), store.path().join("annals.log"))?;
    let mut file = LogFile::in_store(store.path());
    file.append("a line");
    assert!(!file.was_written() && !elsewhere.path().join("target").exists());
    let mut file = LogFile::in_store(&store.path().join("missing"));
    file.append("a line");
    assert!(!file.was_written() && !store.path().join("missing").exists());
    Ok(())
}

#[test]
fn the_file_stays_with_the_store_when_that_is_moved() -> Tested {
    let folder = tempfile::tempdir()?;
    let (store, moved) = (folder.path().join("store"), folder.path().join("moved"));
    std::fs::create_dir(&store)?;
    let mut file = LogFile::in_store(&store);
    std::fs::rename(&store, &moved)?;
    std::fs::create_dir(&store)?;
    file.append("a line");
    assert_eq!((file.was_written(), file.path()), (true, moved.join("annals.log")));
    assert!(std::fs::read_to_string(file.path())?.ends_with("a line\n"));
    assert_eq!(std::fs::read_dir(&store)?.count(), 0);
    Ok(())
}
