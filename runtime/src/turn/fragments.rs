//! Assembles the fragments of an answer from deltas, in the order in which they began
//! (`docs/reference/turn.md#answer`). Pure.

use crate::bus::Fragment;
use std::collections::BTreeMap;

/// The kind of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FragmentKind {
    Text,
    Reasoning,
}

/// A fragment that is complete, or cut off: what had arrived is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedFragment {
    pub(super) kind: FragmentKind,
    pub(super) index: u32,
    pub(super) text: String,
    pub(super) metadata: Option<String>,
}

/// The stream is not what the protocol allows; the text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProtocolViolation(pub(super) String);

/// The fragments of one answer, and the count of its content.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    next: u32,
    texts: BTreeMap<String, FragmentState>,
    thoughts: BTreeMap<String, FragmentState>,
}

#[derive(Debug)]
enum FragmentState {
    Open(OpenFragment),
    Closed,
}

#[derive(Debug, Default)]
struct OpenFragment {
    /// Its place, once something of it arrived.
    index: Option<u32>,
    text: String,
}

impl Fragments {
    /// Takes the next index of content.
    pub(super) fn place(&mut self) -> u32 {
        let index = self.next;
        self.next += 1;
        index
    }

    /// Adds a delta. Returns the fragment that it belongs to, unless the delta is empty.
    pub(super) fn piece(
        &mut self,
        kind: FragmentKind,
        id: &str,
        text: &str,
    ) -> Result<Option<Fragment>, ProtocolViolation> {
        let next = self.next;
        let open = match self.of(kind).get_mut(id) {
            Some(FragmentState::Open(open)) => open,
            Some(FragmentState::Closed) => {
                return Err(ProtocolViolation(format!("a piece of {kind:?} fragment {id:?} came after its end")));
            }
            None if text.is_empty() => {
                self.of(kind).insert(id.to_owned(), FragmentState::Open(OpenFragment::default()));
                return Ok(None);
            }
            None => {
                self.of(kind).insert(
                    id.to_owned(),
                    FragmentState::Open(OpenFragment { index: Some(next), text: text.to_owned() }),
                );
                self.next += 1;
                return Ok(Some(fragment(kind, next)));
            }
        };
        if text.is_empty() {
            return Ok(None);
        }
        open.text.push_str(text);
        let begins = open.index.is_none();
        let index = *open.index.get_or_insert(next);
        if begins {
            self.next += 1;
        }
        Ok(Some(fragment(kind, index)))
    }

    /// Ends a fragment. One without text and metadata is dropped.
    pub(super) fn end(
        &mut self,
        kind: FragmentKind,
        id: &str,
        metadata: Option<String>,
    ) -> Result<Option<FinishedFragment>, ProtocolViolation> {
        match self.of(kind).get_mut(id).map(|fate| std::mem::replace(fate, FragmentState::Closed)) {
            Some(FragmentState::Open(open)) => Ok(self.whole(kind, open, metadata)),
            Some(FragmentState::Closed) | None => {
                Err(ProtocolViolation(format!("{kind:?} fragment {id:?} ended, but is not open")))
            }
        }
    }

    /// Ends every open fragment with the text that arrived.
    pub(super) fn flush(&mut self) -> Vec<FinishedFragment> {
        let mut whole = Vec::new();
        for kind in [FragmentKind::Text, FragmentKind::Reasoning] {
            for fate in std::mem::take(self.of(kind)).into_values() {
                if let FragmentState::Open(open) = fate {
                    whole.extend(self.whole(kind, open, None));
                }
            }
        }
        whole.sort_by_key(|whole| whole.index);
        whole
    }

    fn of(&mut self, kind: FragmentKind) -> &mut BTreeMap<String, FragmentState> {
        match kind {
            FragmentKind::Text => &mut self.texts,
            FragmentKind::Reasoning => &mut self.thoughts,
        }
    }

    fn whole(&mut self, kind: FragmentKind, open: OpenFragment, metadata: Option<String>) -> Option<FinishedFragment> {
        let index = match open.index {
            Some(index) => index,
            None if metadata.is_some() => self.place(),
            None => return None,
        };
        Some(FinishedFragment { kind, index, text: open.text, metadata })
    }
}

fn fragment(kind: FragmentKind, index: u32) -> Fragment {
    match kind {
        FragmentKind::Text => Fragment::Text(index),
        FragmentKind::Reasoning => Fragment::Reasoning(index),
    }
}

#[cfg(test)]
mod tests {
    use super::FragmentKind::{Reasoning, Text};
    use super::*;

    #[test]
    fn fragments_keep_the_order_in_which_they_began() -> Result<(), ProtocolViolation> {
        let mut fragments = Fragments::default();
        fragments.piece(Reasoning, "r", "h")?;
        fragments.piece(Text, "t", "he")?;
        fragments.piece(Reasoning, "r", "m")?;
        fragments.piece(Text, "t", "llo")?;
        let whole = |kind, index, text: &str, metadata: Option<&str>| FinishedFragment {
            kind,
            index,
            text: text.into(),
            metadata: metadata.map(Into::into),
        };
        assert_eq!(fragments.end(Text, "t", None)?, Some(whole(Text, 1, "hello", None)));
        assert_eq!(fragments.place(), 2);
        assert_eq!(fragments.end(Reasoning, "r", Some("{}".into()))?, Some(whole(Reasoning, 0, "hm", Some("{}"))));
        Ok(())
    }

    #[test]
    fn an_empty_fragment_is_none_unless_it_carries_metadata() -> Result<(), ProtocolViolation> {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.piece(Text, "t", "")?, None);
        assert_eq!(fragments.end(Text, "t", None)?, None);
        fragments.piece(Reasoning, "r", "")?;
        let signed = fragments.end(Reasoning, "r", Some("{\"signature\":1}".into()))?;
        assert_eq!(signed.map(|whole| (whole.index, whole.text)), Some((0, String::new())));
        Ok(())
    }

    #[test]
    fn what_is_open_is_flushed_with_what_arrived() -> Result<(), ProtocolViolation> {
        let mut fragments = Fragments::default();
        fragments.piece(Text, "a", "")?;
        fragments.piece(Text, "b", "half")?;
        let flushed: Vec<String> = fragments.flush().into_iter().map(|whole| whole.text).collect();
        assert_eq!(flushed, ["half"]);
        assert!(fragments.flush().is_empty());
        Ok(())
    }

    #[test]
    fn pieces_after_the_end_and_ends_before_the_start_are_violations() -> Result<(), ProtocolViolation> {
        let mut fragments = Fragments::default();
        assert!(fragments.end(Text, "t", None).is_err());
        fragments.piece(Text, "t", "x")?;
        fragments.end(Text, "t", None)?;
        assert!(fragments.piece(Text, "t", "y").is_err() && fragments.end(Text, "t", None).is_err());
        Ok(())
    }
}
