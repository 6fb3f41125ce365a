//! `annals pin` and `annals unpin`

use crate::desk::Desk;
use crate::error::{CliError, Verdict};
use crate::undoing;
use annals_core::event::{MessagePinned, MessageUnpinned};
use annals_core::{Event, Seq};
use annals_projections::Body;
use annals_store::OpenMode;

/// Pins a message: it survives every compaction verbatim.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The Session.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The Seq of the message, as `transcript` shows it.
    #[arg(value_name = "SEQ")]
    seq: u64,
}

/// Makes a pinned message an ordinary one again.
#[derive(Clone, Debug, clap::Args)]
pub struct UnpinArgs {
    #[command(flatten)]
    args: Args,
}

/// Runs `pin`.
///
/// # Errors
/// When there is no such message, or it is pinned already.
pub async fn run(args: &Args, desk: &Desk) -> Result<Verdict, CliError> {
    record(args, desk, true).await
}

/// Runs `unpin`.
///
/// # Errors
/// When there is no such message, or it is not pinned.
pub async fn run_unpin(args: &UnpinArgs, desk: &Desk) -> Result<Verdict, CliError> {
    record(&args.args, desk, false).await
}

async fn record(args: &Args, desk: &Desk, pin: bool) -> Result<Verdict, CliError> {
    let reader = desk.store(OpenMode::Existing).await?;
    let named = reader.find(&args.session).await?;
    let session = undoing::local_fork(&reader, named).await?.unwrap_or(named);
    let head = reader.head(session).await?;
    let seq = Seq(args.seq);
    let history = reader.view(session, head.next).await?.history;
    let pinnable = history.message(seq).is_some_and(|message| {
        matches!(message.body, Body::User { .. } | Body::Assistant(_) | Body::Synthetic { .. } | Body::Shell { .. })
    });
    if !pinnable || history.is_pinned(seq) == pin {
        return Err(CliError::NotPinnable { session, seq, pinned: pinnable && history.is_pinned(seq) });
    }
    let event: Event = match pin {
        true => MessagePinned { message: seq }.into(),
        false => MessageUnpinned { message: seq }.into(),
    };
    let (session, at) = undoing::append(&reader, desk.look.now, session, event).await?;
    let did = if pin { "pinned" } else { "unpinned" };
    desk.remark(&format!("{did}{}, at seq {at}", undoing::in_fork(named, session)));
    Ok(Verdict::Fine)
}
