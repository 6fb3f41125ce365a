//! Texts that were erased (`docs/reference/erasure.md`).

use super::payload;
use crate::Seq;
use crate::commitment::StoredKey;
use crate::text::{Text, as_text, from_text};
use alloc::string::String;
use alloc::vec::Vec;

payload! {
    /// The place of one text of the session.
    #[derive(PartialOrd, Ord, Hash)]
    TextPlace {
        /// The event.
        seq: Seq,
        /// The RFC 6901 pointer of the text in the export form of the event, such as `/text`.
        place: String,
    } texts {}
}

payload! {
    /// These texts of the session are erased: recorded before they are removed from every copy of the log. Always the first
    /// event of its batch. It starts a new key, so that no one can test a guess of an erased text with the key of the session.
    TextsErased {
        /// Which texts, in order. Never what was searched for.
        what: Vec<TextPlace>,
        /// Why.
        reason: Text,
        /// Who asked for it.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        by: String,
        /// The key of the session from this event on; in JSON its hash.
        #[serde(rename = "key_hash")]
        key: StoredKey,
    } texts { reason }
}

payload! {
    /// The session is forgotten: its texts are erased, and lists of sessions leave it out.
    #[derive(Copy)]
    SessionForgotten {} texts {}
}
