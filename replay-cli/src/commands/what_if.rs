//! `annals what-if`

pub mod over;
mod setting;

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, plain};
use crate::style::{Emphasis, Style, counted, money, thousands};
use annals_inspect::what_if::{CompactionOutcomeIf, WhatIf, WhatIfAnswer, WhatIfCompaction, WhatIfSide, ask};
use annals_inspect::{Lack, SessionAt};
use over::TunedArgs;
use setting::{TTL_MS, known_model};
use std::io::Write;

/// Show what another decision would have sent, without a model.
///
/// Projects the recorded session again: request by request what would have been sent, the first difference, tokens, price,
/// cache breaks, and compactions that would have happened or not. Answers and calls stay as they were recorded. Exit
/// status 0 if nothing would differ, 1 if something would.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Change a decision: a key of the configuration (`compaction.keep_tokens=0`, `model=ID`), `file:PATH=@FILE|TEXT|none`,
    /// `source:KEY=TEXT|@FILE|none`, `agent.system=@FILE`, `tool:NAME=none`, `redaction=on`; may be repeated.
    #[arg(long = "set", value_name = "CHANGE", required_unless_present = "over")]
    settings: Vec<String>,
    /// Show every part that differs in this request, numbered as in `annals cache` (default: the first that differs).
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    /// Compare settings of compaction over these sessions instead: price and tokens of all requests, and what would leave the view.
    #[arg(long, value_name = "SESSION", num_args = 1.., conflicts_with_all = ["settings", "step", "session"])]
    over: Vec<String>,
    #[command(flatten)]
    tuned: TunedArgs,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if !args.over.is_empty() {
        return over::over(&args.over, &args.tuned, cli, out).await;
    }
    let directory = &cli.environment.directory;
    let config = cli.environment.config(directory)?;
    let (changes, notes) = setting::changes(&args.settings, &config, directory)?;
    let past = SessionAt::from(&cli.target(&args.target).await?);
    let question = WhatIf { changes, rules: setting::rules(&config), ttl_ms: TTL_MS, step: args.step };
    let mut answer = ask(&past, &question, &|name| known_model(&config, name)).await?;
    answer.notes.extend(notes);
    answer.changes.clone_from(&args.settings);
    let verdict = Verdict::bad_if(answer.differs);
    if cli.style.json {
        json::object(out, &answer)?;
        return Ok(verdict);
    }
    draw(&answer, &cli.style, out)?;
    for note in &answer.notes {
        cli.remark(note);
    }
    if answer.damaged > 0 {
        cli.remark(&format!("{} cannot be rebuilt", counted(answer.damaged, "request")));
    }
    let unpriced = |side: &WhatIfSide| side.price.is_none();
    let unknown =
        answer.requests.iter().filter(|request| unpriced(&request.before) || unpriced(&request.after)).count();
    if (1..answer.requests.len()).contains(&unknown) {
        cli.remark(&format!(
            "{} not in the price: the price of the model is unknown",
            counted(unknown as u64, "request")
        ));
    }
    if let Some(lacking) = Lack::sentence(&answer.lacks) {
        cli.remark(&format!("not recorded: {lacking}"));
    }
    Ok(verdict)
}

fn draw(answer: &WhatIfAnswer, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    const HEADS: [&str; 6] = ["request", "event", "tokens", "would be", "price", "would be"];
    let price = |side: &WhatIfSide| side.price.map_or("-".to_owned(), money);
    let broke = |side: &WhatIfSide| if side.broke { " !" } else { "" };
    let rows: Vec<[String; 6]> = answer
        .requests
        .iter()
        .map(|request| {
            [
                request.number.to_string(),
                request.seq.to_string(),
                thousands(request.before.tokens),
                thousands(request.after.tokens),
                format!("{}{}", price(&request.before), broke(&request.before)),
                format!("{}{}", price(&request.after), broke(&request.after)),
            ]
        })
        .collect();
    let mut widths = HEADS.map(columns);
    for row in &rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = (*width).max(columns(cell)));
    }
    let line = |cells: &[String; 6]| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        cells.join("  ")
    };
    if !rows.is_empty() {
        writeln!(out, "{}", style.paint(Emphasis::Dim, &line(&HEADS.map(str::to_owned))))?;
    }
    for (request, row) in answer.requests.iter().zip(&rows) {
        let outcome = match (&request.first, request.same) {
            (_, true) => style.paint(Emphasis::Dim, "the same"),
            (Some(first), _) => {
                let part = first.b.as_deref().or(first.a.as_deref()).unwrap_or_default();
                style.paint(Emphasis::Warn, &format!("differs from {} on", plain(part)))
            }
            (None, _) => style.paint(Emphasis::Warn, "differs"),
        };
        writeln!(out, "{}  {outcome}", line(row))?;
    }
    for compaction in &answer.compactions {
        if compaction.outcome != CompactionOutcomeIf::Same {
            writeln!(out, "{}", style.paint(Emphasis::Context, &words(compaction)))?;
        }
    }
    if let Some(number) = answer.detail_of {
        writeln!(out, "\n{}", style.paint(Emphasis::Strong, &format!("request {number}")))?;
        for part in &answer.detail {
            let name = part.b.as_deref().or(part.a.as_deref()).unwrap_or_default();
            let (before, after) = (part.before.as_deref(), part.after.as_deref());
            let (before, after) = (plain(before.unwrap_or_default()), plain(after.unwrap_or_default()));
            crate::draw::changes::lines(&plain(name), &before, &after, style, out)?;
        }
        writeln!(out)?;
    }
    let differ = answer.requests.iter().filter(|request| !request.same).count() as u64;
    let (before, after) = (&answer.before, &answer.after);
    let total_price = |price: Option<u64>| price.map_or("unknown".to_owned(), money);
    let pair = |one: String, other: String| if one == other { one } else { format!("{one} → {other}") };
    let total = format!(
        "{} of {} would differ · tokens {} · price {} · cache breaks (!) {} · compactions {}",
        differ,
        counted(answer.requests.len() as u64, "request"),
        pair(thousands(before.tokens), thousands(after.tokens)),
        pair(total_price(before.price), total_price(after.price)),
        pair(before.breaks.to_string(), after.breaks.to_string()),
        pair(before.compactions.to_string(), after.compactions.to_string()),
    );
    let emphasis = if answer.differs { Emphasis::Strong } else { Emphasis::Good };
    writeln!(out, "{}", style.paint(emphasis, &total))?;
    Ok(())
}

fn words(compaction: &WhatIfCompaction) -> String {
    let (what, seq) = (compaction.what, compaction.seq);
    let what = if what == "summary" { "compaction" } else { "clearing of outputs" };
    match compaction.outcome {
        CompactionOutcomeIf::Same => format!("the {what} at event {seq} stays"),
        CompactionOutcomeIf::Changed => {
            format!("the {what} at event {seq} would keep another tail (the summary is the recorded one)")
        }
        CompactionOutcomeIf::Dropped => format!("the {what} at event {seq} would not have happened"),
        CompactionOutcomeIf::Added => {
            format!("one more {what} would have happened before event {seq} ({} tokens)", thousands(compaction.tokens))
        }
    }
}
