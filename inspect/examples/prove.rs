//! Proves every request of an exported session: `cargo run -p annals-inspect --example prove -- FILE`.
//!
//! Rebuilds each request from the log alone, encodes its body again, and compares both digests with the recorded ones.

use annals_inspect::SessionAt;
use annals_store::{EventLog, MemoryLog, exchange};
use std::error::Error;
use std::sync::Arc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "fixtures/proved.jsonl".into());
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    exchange::import_file(&*log, std::path::Path::new(&file), &mut |_| {}).await?;
    for session in log.sessions().all().await? {
        let at = SessionAt::new(log.clone(), None, session.session, session.head.next);
        for proof in at.prove(true).await? {
            let result = match (&proof.flaw, proof.withheld) {
                (Some(flaw), _) => flaw.clone(),
                (None, Some(parts)) => parts.to_string(),
                (None, None) => "proved".to_owned(),
            };
            println!("{} event {}: {result}", session.session, proof.mark.seq);
        }
    }
    Ok(())
}
