//! The first cut at which the view of a program differs.

use super::BisectResult;
use crate::{AskError, Fact, FoldCommand, ProgramView, SessionAt};
use annals_core::{Record, Seq};
use serde_json::Value;

/// Whether something holds of the value that a program printed.
pub type FoldPredicate = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// Finds the first cut between `good` and `bad` at which the view of a program is bad: the predicate holds of it; or without
/// a predicate the program fails as in `git bisect run`; or, if it succeeds at both ends, it prints something else than at `good`.
///
/// # Errors
/// When the ends do not differ, the program gives no view, or the log cannot be read.
pub async fn ask_fold(
    past: &SessionAt,
    good: Seq,
    bad: Seq,
    command: &FoldCommand,
    predicate: Option<FoldPredicate>,
) -> Result<BisectResult, AskError> {
    let (mut low, mut high) = super::ends(past, good, bad).await?;
    let first = command.view(past, low).await?;
    let last = command.view(past, high).await?;
    let compared = predicate.is_none() && first.status == 0 && last.status == 0;
    let is_bad = |view: &ProgramView| match (&predicate, view.status) {
        (Some(holds), 0) => Ok(holds(&view.value())),
        (None, 0) => Ok(compared && view.printed != first.printed),
        (None, 125) => Err(command.failed("gave no verdict (exit status 125)".to_owned())),
        (None, 1..=127) => Ok(true),
        (_, status) => Err(command.failed(format!("failed (exit status {status})"))),
    };
    if is_bad(&first)? {
        return Err(match &predicate {
            Some(_) => super::already(low),
            None => AskError::Ends {
                what: format!(
                    "the program already fails after --good (event {}, exit status {}); it must succeed there",
                    low.0.saturating_sub(1),
                    first.status
                ),
            },
        });
    }
    if !is_bad(&last)? {
        return Err(match compared {
            true => AskError::Ends { what: "the program prints the same after --good and --bad".to_owned() },
            false => super::not_yet(high),
        });
    }
    let (mut probes, mut folded) = (2, low.0 + high.0);
    while let Some(middle) = super::between(past, low, high).await? {
        probes += 1;
        folded += middle.0;
        if is_bad(&command.view(past, middle).await?)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    let mut facts = Vec::new();
    past.each(low, high, |record: &Record<'_>| facts.push(Fact::of(record, past.session))).await?;
    Ok(BisectResult { good: low, bad: high, facts, probes, folded })
}
