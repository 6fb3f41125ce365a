//! What differs between two views of a program.

use super::Lines;
use crate::{AskError, FoldCommand, ProgramViewJson, SessionAt};
use annals_core::Seq;
use serde::Serialize;

/// Two views of a program, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldDiff {
    /// The first view.
    pub from: ProgramViewJson,
    /// The second view.
    pub to: ProgramViewJson,
    /// Whether the program printed the same for both.
    pub same: bool,
    /// How many lines differ.
    pub lines: Lines,
    /// What it printed for the first.
    #[serde(skip)]
    pub before: String,
    /// What it printed for the second.
    #[serde(skip)]
    pub after: String,
}

/// Compares what a program prints for the events of one session up to a cut with what it prints for another.
///
/// # Errors
/// When the program fails, or a log cannot be read.
pub async fn folds(
    one: (&SessionAt, Seq),
    other: (&SessionAt, Seq),
    command: &FoldCommand,
) -> Result<FoldDiff, AskError> {
    let from = command.succeeds(one.0, one.1).await?;
    let to = command.succeeds(other.0, other.1).await?;
    let (before, after) = (from.text(), to.text());
    Ok(FoldDiff {
        same: from.printed == to.printed,
        lines: Lines::between(&before, &after),
        from: from.to_json(one.0),
        to: to.to_json(other.0),
        before,
        after,
    })
}
