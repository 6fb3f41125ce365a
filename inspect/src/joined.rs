//! JSON arrays that are made again and again with few items changed: only those are written again.

/// The items of an array, joined by commas.
#[derive(Debug, Default)]
pub(crate) struct JoinedItems {
    text: String,
    /// Where each item ends.
    ends: Vec<usize>,
}

impl JoinedItems {
    /// Keeps the first items.
    pub(crate) fn truncate(&mut self, items: usize) {
        if items < self.ends.len() {
            self.ends.truncate(items);
            self.text.truncate(self.ends.last().copied().unwrap_or(0));
        }
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: &str) {
        if !self.ends.is_empty() {
            self.text.push(',');
        }
        self.text.push_str(item);
        self.ends.push(self.text.len());
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them, without the brackets.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
