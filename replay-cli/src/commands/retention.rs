//! `annals retention`

use crate::command_context::CommandContext;
use crate::erasing;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, pad, plain};
use crate::style::{Emphasis, counted, thousands};
use annals_config::RetentionRule;
use annals_host::erasing::{BegunErasure, ErasedLog, ErasedStore, who};
use annals_store::EventLog;
use annals_store::erasure::{ErasureNote, RetentionPlan, plan_retention};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Erase texts that are older than your retention rules allow.
///
/// The rules are in your configuration, as texts to erase and their age: `[retention]` with lines such as
/// `"tool:bash" = "90d"`. A project cannot set them. Texts are erased as by `annals erase`, with the rule as the reason;
/// nothing is erased unless this command runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Show what would be erased; erase nothing.
    #[arg(long, short = 'n', conflicts_with_all = ["yes", "cassette"])]
    dry_run: bool,
    /// Do it without asking.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Remove recorded answers in this cassette whose requests contained an erased text. May be repeated.
    #[arg(long, value_name = "DIR")]
    cassette: Vec<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When the configuration is wrong, another process uses the store, or the disk refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let rules = cli.environment.config(&cli.environment.directory)?.retention();
    if rules.is_empty() {
        cli.remark("no retention rule is configured: add for example \"tool:bash\" = \"90d\" to [retention] in your configuration");
        return Ok(Verdict::Fine);
    }
    if args.dry_run {
        let reader = cli.reader().await?;
        let found = chosen(&**reader.log(), &rules, cli).await?;
        match cli.style.json {
            true => json::object(out, &planned(&found, &rules))?,
            false => table(&found, &rules, cli, out)?,
        }
        return Ok(Verdict::Fine);
    }
    let store = ErasedStore { context: cli, cassettes: &args.cassette };
    erasing::check_confirmable(args.yes, cli)?;
    let log = store.open().await?;
    if let Some(earlier) = store.finish_earlier(&log).await? {
        erasing::remark_earlier(&earlier, cli);
    }
    let begun = begin(&store, args.yes, &log, &rules, cli, out).await;
    store.close(&log).await?;
    let (begun, mut answer) = match begun? {
        Begin::Nothing => return Ok(Verdict::Fine),
        Begin::Declined => {
            cli.remark("nothing was erased");
            return Ok(Verdict::bad_if(true));
        }
        Begin::Begun(begun, planned) => (begun, planned),
    };
    let Some(erased) = store.finish(&log, *begun).await? else { return Ok(Verdict::bad_if(true)) };
    store.index_again().await;
    if cli.style.json {
        if let Value::Object(answer) = &mut answer {
            answer.insert("erased".to_owned(), erased.to_json().into());
        }
        json::object(out, &answer)?;
    } else {
        let (texts, batches) = (counted(erased.plan.texts, "text"), counted(erased.copies.batches, "batch"));
        writeln!(out, "erased {texts}; {batches} rewritten, integrity unchanged")?;
        erasing::show(&erased, cli, out)?;
    }
    Ok(Verdict::Fine)
}

/// How it begins.
enum Begin {
    /// No text is old enough.
    Nothing,
    /// It was not confirmed.
    Declined,
    /// It was recorded; and what was planned, for programs.
    Begun(Box<BegunErasure>, Value),
}

async fn chosen(log: &dyn EventLog, rules: &[RetentionRule], cli: &CommandContext) -> Result<RetentionPlan, CliError> {
    Ok(plan_retention(log, rules.iter().map(|rule| rule.at(cli.style.now)).collect()).await?)
}

async fn begin(
    store: &ErasedStore<'_>,
    yes: bool,
    log: &ErasedLog,
    rules: &[RetentionRule],
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Begin, CliError> {
    let found = chosen(&*log.log(), rules, cli).await?;
    let planned = planned(&found, rules);
    if found.sessions.is_empty() {
        match cli.style.json {
            true => json::object(out, &planned)?,
            false => table(&found, rules, cli, out)?,
        }
        return Ok(Begin::Nothing);
    }
    if !cli.style.json {
        table(&found, rules, cli, out)?;
        out.flush()?;
    }
    erasing::remark_reach(&found.plan, cli);
    if !erasing::confirmed(yes, &format!("Erase them from {}?", counted(found.sessions.len() as u64, "session")))? {
        return Ok(Begin::Declined);
    }
    let named = |rules_of: &[usize]| {
        let named: Vec<String> =
            rules_of.iter().filter_map(|at| rules.get(*at)).map(RetentionRule::recordable).collect();
        format!("retention: {}", named.join(", "))
    };
    // Sessions that only inherit an erased text lose hashes.
    let reason = named(&(0..rules.len()).collect::<Vec<_>>());
    let reasons = found.sessions.iter().map(|(session, of)| (*session, named(&of.rules))).collect();
    let note = ErasureNote { reason, reasons, by: who(cli), at: cli.style.now, forgets: None };
    let begun = store.begin(log, found.plan, &note, &|_| false).await?;
    Ok(Begin::Begun(Box::new(begun), planned))
}

/// What would be erased, for programs.
fn planned(found: &RetentionPlan, rules: &[RetentionRule]) -> Value {
    let named = |at: &usize| rules.get(*at).map(|rule| json!({"rule": rule.selects.written(), "after": rule.age}));
    let sessions = found.sessions.iter().map(|(session, of)| {
        json!({"session": session, "texts": of.texts, "chars": of.chars, "rules": of.rules.iter().map(named).collect::<Vec<_>>()})
    });
    let RetentionPlan { plan, .. } = found;
    json!({
        "sessions": sessions.collect::<Vec<_>>(), "texts": plan.texts, "chars": plan.chars, "hashes": plan.hashes,
        "requests": plan.requests.len(),
    })
}

/// A line per session, and the sum.
fn table(
    found: &RetentionPlan,
    rules: &[RetentionRule],
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    if found.sessions.is_empty() {
        writeln!(out, "no text is older than the retention rules allow")?;
        return Ok(());
    }
    let named = |at: &usize| rules.get(*at).map(|rule| format!("{} after {}", rule.selects.written(), rule.age));
    let head = ["session".to_owned(), "texts".to_owned(), "characters".to_owned(), "rules".to_owned()];
    let mut rows = vec![head];
    for (session, of) in &found.sessions {
        let named: Vec<String> = of.rules.iter().filter_map(named).collect();
        rows.push([session.to_string(), thousands(of.texts), thousands(of.chars), plain(&named.join(", "))]);
    }
    let (texts, chars) = (thousands(found.plan.texts), thousands(found.plan.chars));
    rows.push([counted(found.sessions.len() as u64, "session"), texts, chars, String::new()]);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    for (index, [session, texts, chars, rules]) in rows.iter().enumerate() {
        let [first, second, third] = widths;
        let line = format!("{}  {texts:>second$}  {chars:>third$}  {rules}", pad(session, first));
        let emphasis = match index {
            0 => Emphasis::Dim,
            last if last + 1 == rows.len() => Emphasis::Strong,
            _ => Emphasis::Plain,
        };
        writeln!(out, "{}", cli.style.paint(emphasis, line.trim_end()))?;
    }
    Ok(())
}
