//! What the history reports about changes of its selection.

use crate::story::{Writer, commands};
use annals_core::{Batch, Seq};
use annals_projections::{History, Message};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn nothing_before_the_reported_place_changes(commands in commands()) {
        let log = Writer::run(&commands).batches;
        let (mut history, mut before) = (History::default(), Vec::<Message>::new());
        for record in log.iter().flat_map(Batch::records) {
            let changed = history.take(&record);
            let now: Vec<Message> = history.selected().cloned().collect();
            let selected: BTreeSet<Seq> = now.iter().map(|message| message.seq).collect();
            for message in history.messages() {
                prop_assert_eq!(history.selects(message.seq), selected.contains(&message.seq), "{}", message.seq);
            }
            prop_assert!(!history.selects(Seq(u64::MAX)));
            let mut expected = before;
            if let Some(place) = changed {
                while expected.pop_if(|message| message.seq >= place).is_some() {}
                expected.extend(history.selected_from(place).cloned());
            }
            prop_assert_eq!(&now, &expected, "event {}: {:?}, changed from {:?}", record.seq, record.event, changed);
            before = now;
        }
    }
}
