//! The words of each enum have permanent numbers, too: their order is pinned here.

use crate::event::*;
use alloc::string::ToString;
use alloc::vec::Vec;

macro_rules! pinned_words {
    ($($name:ident: $($word:literal)*;)*) => {$(
        let words = [$($word),*];
        for (number, word) in words.iter().enumerate() {
            let read: $name = serde_json::from_value((*word).into()).unwrap();
            assert_eq!((read.as_str(), read.to_string().as_str()), (*word, *word));
            assert_eq!(serde_json::to_value(read).unwrap(), *word);
            let bytes: Vec<u8> = wincode::serialize(&read).unwrap();
            assert_eq!(bytes, (number as u32).to_le_bytes(), "{word} of {}", stringify!($name));
            assert_eq!(wincode::deserialize_exact::<$name>(&bytes).unwrap(), read);
        }
        let next = (words.len() as u32).to_le_bytes();
        assert!(wincode::deserialize_exact::<$name>(&next).is_err(), "{} has a word more", stringify!($name));
        assert!(serde_json::from_value::<$name>("surprise".into()).is_err());
    )*};
}

#[test]
fn the_numbers_of_all_words_are_pinned() {
    pinned_words! {
        Switch: "keep" "replace";
        Delivery: "steer" "queue";
        EpochCause: "first-turn" "reverted" "moved" "compaction" "agent-switched" "model-switched" "incompatible";
        SystemMessages: "native" "wrapped";
        Purpose: "turn" "summary" "title" "other";
        Finish: "stop" "tool-calls" "length" "content-filter" "error" "other" "paused";
        ToolOutcome: "completed" "failed" "interrupted" "exhausted";
        Effect: "allow" "deny" "ask";
        Reply: "once" "always" "reject";
        CompactionReason: "auto" "manual" "overflow" "unknown";
        ChildOutcome: "completed" "failed" "cancelled";
    }
}
