//! The form in which sentences are saved: by position where no person reads it.

use super::{KeptCount, SentenceFidelity};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::Seq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(sentences: &[SentenceFidelity], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return sentences.serialize(serializer);
    }
    serializer.collect_seq(sentences.iter().map(|SentenceFidelity { message, text, count }| (message, text, count)))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SentenceFidelity>, D::Error> {
    if deserializer.is_human_readable() {
        return Deserialize::deserialize(deserializer);
    }
    let rows: Vec<(Seq, String, KeptCount)> = Deserialize::deserialize(deserializer)?;
    Ok(rows.into_iter().map(|(message, text, count)| SentenceFidelity { message, text, count }).collect())
}
