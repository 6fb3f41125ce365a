//! Proofs that a leaf is in a tree, and that a tree extends an earlier one.

use super::{TreeHash, root_of, split};

/// The inclusion proof of the leaf `index` among these leaves, from its sibling upwards; `None` when there is no such leaf.
pub fn inclusion_path(leaves: &[TreeHash], index: usize) -> Option<Vec<TreeHash>> {
    if index >= leaves.len() {
        return None;
    }
    let (mut rest, mut at, mut path) = (leaves, index, Vec::new());
    while rest.len() > 1 {
        let (left, right) = rest.split_at(split(rest.len()));
        if at < left.len() {
            path.push(root_of(right));
            rest = left;
        } else {
            path.push(root_of(left));
            at -= left.len();
            rest = right;
        }
    }
    path.reverse();
    Some(path)
}

/// The consistency proof between the tree of the first `old` of these leaves and the tree of all; `None` when there are not
/// so many. Empty when `old` is 0 or all.
pub fn consistency_path(leaves: &[TreeHash], old: usize) -> Option<Vec<TreeHash>> {
    if old > leaves.len() {
        return None;
    }
    let mut path = Vec::new();
    if old == 0 || old == leaves.len() {
        return Some(path);
    }
    // Whether the rest begins with the first leaf of all: then the reader knows its root when the old tree ends there.
    let (mut rest, mut at, mut from_start) = (leaves, old, true);
    while at < rest.len() {
        let (left, right) = rest.split_at(split(rest.len()));
        if at <= left.len() {
            path.push(root_of(right));
            rest = left;
        } else {
            path.push(root_of(left));
            at -= left.len();
            rest = right;
            from_start = false;
        }
    }
    if !from_start {
        path.push(root_of(rest));
    }
    path.reverse();
    Some(path)
}

/// The root that an inclusion proof leads to; `None` when the proof has not the length that index and size demand.
pub fn root_from_path(leaf: TreeHash, index: u64, size: u64, path: &[TreeHash]) -> Option<TreeHash> {
    if index >= size {
        return None;
    }
    let (mut at, mut last, mut node) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if at & 1 == 1 || at == last {
            node = TreeHash::of_children(*sibling, node);
            // A node at the right edge without a sibling moves up as it is.
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            node = TreeHash::of_children(node, *sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(node)
}

/// Whether a consistency proof shows that the tree of `size` leaves with `root` extends the one of `old` leaves with
/// `old_root`.
pub fn is_consistent(old: u64, old_root: TreeHash, size: u64, root: TreeHash, path: &[TreeHash]) -> bool {
    if old > size {
        return false;
    }
    if old == size || old == 0 {
        let is_same = old == size && old_root == root;
        let is_from_nothing = old == 0 && old_root == TreeHash::of_nothing();
        return path.is_empty() && (is_same || (is_from_nothing && size > 0));
    }
    let known = old.is_power_of_two().then_some(old_root);
    let mut hashes = known.into_iter().chain(path.iter().copied());
    let Some(first) = hashes.next() else { return false };
    let shift = (old - 1).trailing_ones();
    let (mut at, mut last) = ((old - 1) >> shift, (size - 1) >> shift);
    let (mut before, mut after) = (first, first);
    for hash in hashes {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            before = TreeHash::of_children(hash, before);
            after = TreeHash::of_children(hash, after);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            after = TreeHash::of_children(after, hash);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && before == old_root && after == root
}
