//! `annals when`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::Sheet;
use annals_inspect::{SessionAt, when};
use std::io::Write;

/// Show when a text entered and left what the model sees.
///
/// Exit status 1 if the text was never in the model's view, or in nothing that the agent of an imported session recorded.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session (default: @last), then the exact text.
    #[arg(value_name = "[SESSION] TEXT", num_args = 1..=2, required = true)]
    session_and_text: Vec<String>,
    /// Show the state right after EVENT (and the events written with it): its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    at: Option<EventArg>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (session, text) = match args.session_and_text.as_slice() {
        [session, text, ..] => (session.clone(), text.as_str()),
        [text] => ("@last".to_owned(), text.as_str()),
        [] => ("@last".to_owned(), ""),
    };
    let past = SessionAt::from(&cli.target(&Target { session, at: args.at }).await?);
    let answer = when::ask(&past, text).await?;
    if cli.style.json {
        json::object(out, &answer)?;
    } else {
        crate::draw::when::draw(&answer, &mut Sheet::new(out, &cli.style))?;
    }
    Ok(Verdict::bad_if(answer.sightings.is_empty()))
}
