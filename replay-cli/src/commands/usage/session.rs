//! The usage of one session, by model.

use crate::command_context::{CommandContext, Target};
use crate::draw::usage::{counts, table};
use crate::error::{CliError, Verdict};
use crate::json;
use annals_host::project::root;
use annals_inspect::SessionAt;
use annals_inspect::pricing::Cost;
use std::io::Write;
use std::path::Path;

/// Prints the usage of a session.
///
/// # Errors
/// When no session has the name, or the log cannot be read.
pub async fn run(target: &Target, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(target).await?;
    let at = SessionAt::from(&found);
    let project = |directory: &str| root(Path::new(directory));
    if cli.style.json {
        json::object(out, &at.audited_usage(&project).await?)?;
        return Ok(Verdict::Fine);
    }
    let usage = at.usage().await?;
    let safety = at.safety(&project).await?;
    if usage.total.attempts == 0 && usage.total.cost == 0 {
        cli.remark("no usage recorded");
        counts(&safety, &cli.style, out)?;
        return Ok(Verdict::Fine);
    }
    let pricing = cli.pricing();
    table(&usage, &pricing, &cli.style, out)?;
    counts(&safety, &cli.style, out)?;
    let costs = usage.used().map(|(model, _)| pricing.of_model(&usage, model));
    if let Some(remark) = Cost::remark(costs.chain([pricing.total(&usage)])) {
        cli.remark(remark);
    }
    Ok(Verdict::Fine)
}
