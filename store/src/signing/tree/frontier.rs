//! The right edge of a tree: what is needed to append leaves and to compute the root.

use super::TreeHash;

/// The roots of the complete subtrees that a tree consists of, largest first: one for each bit of its size. Leaves are
/// appended in constant time on average.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<TreeHash>,
}

impl Frontier {
    /// The frontier of a tree of `size` leaves; `None` when the number of peaks does not fit the size.
    pub fn from_parts(size: u64, peaks: Vec<TreeHash>) -> Option<Self> {
        (u32::try_from(peaks.len()) == Ok(size.count_ones())).then_some(Self { size, peaks })
    }

    /// Appends a leaf.
    pub fn push(&mut self, leaf: TreeHash) {
        let mut node = leaf;
        for _ in 0..self.size.trailing_ones() {
            let Some(left) = self.peaks.pop() else { break };
            node = TreeHash::of_children(left, node);
        }
        self.peaks.push(node);
        self.size = self.size.saturating_add(1);
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The roots of the complete subtrees, largest first.
    pub fn peaks(&self) -> &[TreeHash] {
        &self.peaks
    }

    /// The root of the whole tree.
    pub fn root(&self) -> TreeHash {
        let mut peaks = self.peaks.iter().rev().copied();
        let last = peaks.next().unwrap_or_else(TreeHash::of_nothing);
        peaks.fold(last, |right, left| TreeHash::of_children(left, right))
    }
}
