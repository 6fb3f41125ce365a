//! `annals what-if --over`, which was `annals tune`

use super::setting::{TTL_MS, known_model, rules};
use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::style::{Emphasis, Style, counted, money, thousands};
use annals_inspect::SessionAt;
use annals_inspect::what_if::{CompactionRules, TunedSetting, tune};
use std::io::Write;

/// Show what other compaction settings would have cost over sessions.
///
/// Without a model: projects each session under every combination of the settings, and compares price and tokens of all requests with what leaves
/// the view (summaries that would have been made). `*` marks the settings that hold now.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The sessions: ids, starts or ends of ids, words of titles, or @last; or FILES with one each.
    #[arg(value_name = "SESSION", default_value = "@last")]
    sessions: Vec<String>,
    #[command(flatten)]
    tuned: TunedArgs,
}

/// The settings of compaction that are compared.
#[derive(Clone, Debug, clap::Args)]
pub struct TunedArgs {
    /// With --over: keep so many tokens as they are.
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values_t = [0, 4_000, 8_000, 16_000])]
    keep_tokens: Vec<u64>,
    /// With --over: leave so many tokens of the window free.
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values_t = [20_000, 60_000, 120_000])]
    buffer: Vec<u64>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    over(&args.sessions, &args.tuned, cli, out).await
}

/// Compares settings over sessions.
///
/// # Errors
/// When a session or the configuration cannot be read.
pub async fn over(
    names: &[String],
    args: &TunedArgs,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let config = cli.environment.config(&cli.environment.directory)?;
    let current = rules(&config);
    let mut sessions = Vec::new();
    for session in names {
        sessions.push(SessionAt::from(&cli.target(&Target { session: session.clone(), at: None }).await?));
    }
    let mut settings: Vec<CompactionRules> = Vec::new();
    for buffer in &args.buffer {
        settings.extend(args.keep_tokens.iter().map(|keep| CompactionRules {
            buffer: *buffer,
            keep_tokens: *keep,
            ..current
        }));
    }
    if !settings.contains(&current) {
        settings.push(current);
    }
    let found = tune(&sessions, current, &settings, TTL_MS, &|name| known_model(&config, name)).await?;
    if cli.style.json {
        json::list(out, &found)?;
    } else {
        draw(&found, &cli.style, out)?;
        cli.remark(&format!(
            "over {}; summaries are taken to be as long as the recorded ones",
            counted(names.len() as u64, "session")
        ));
    }
    Ok(Verdict::Fine)
}

fn draw(found: &[TunedSetting], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let most = found.iter().map(|row| row.price.unwrap_or(row.tokens).max(1)).max().unwrap_or(1);
    let head = format!(
        "  {:>8} {:>12} {:>12} {:>10} {:>9} {:>7}  price",
        "buffer", "keep_tokens", "tokens", "price", "summaries", "breaks"
    );
    writeln!(out, "{}", style.paint(Emphasis::Dim, &head))?;
    for row in found {
        let mark = if row.current { '*' } else { ' ' };
        let bar =
            "▇".repeat(usize::try_from(row.price.unwrap_or(row.tokens).saturating_mul(16) / most).unwrap_or_default());
        let line = format!(
            "{mark} {:>8} {:>12} {:>12} {:>10} {:>9} {:>7}  {bar}",
            thousands(row.buffer),
            thousands(row.keep_tokens),
            thousands(row.tokens),
            row.price.map_or("-".to_owned(), money),
            row.compactions,
            row.breaks,
        );
        let emphasis = if row.current { Emphasis::Strong } else { Emphasis::Plain };
        writeln!(out, "{}", style.paint(emphasis, line.trim_end()))?;
    }
    Ok(())
}
