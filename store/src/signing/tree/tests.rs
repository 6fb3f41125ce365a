//! The tree against a short reference, and against the vectors of RFC 6962 implementations.

use super::*;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// The definition of RFC 6962, section 2.1, as it is written there: MTH, PATH and SUBPROOF over the contents of leaves.
mod reference {
    use super::{Digest, Sha256};

    type Hash = [u8; 32];

    fn hash(parts: &[&[u8]]) -> Hash {
        Sha256::digest(parts.concat()).into()
    }

    fn k(n: usize) -> usize {
        let mut k = 1;
        while 2 * k < n {
            k *= 2;
        }
        k
    }

    pub fn mth(d: &[Vec<u8>]) -> Hash {
        match d {
            [] => hash(&[]),
            [one] => hash(&[&[0], one]),
            _ => hash(&[&[1], &mth(&d[..k(d.len())]), &mth(&d[k(d.len())..])]),
        }
    }

    pub fn path(m: usize, d: &[Vec<u8>]) -> Vec<Hash> {
        if d.len() <= 1 {
            return Vec::new();
        }
        let k = k(d.len());
        let (mut path, sibling) =
            if m < k { (path(m, &d[..k]), mth(&d[k..])) } else { (path(m - k, &d[k..]), mth(&d[..k])) };
        path.push(sibling);
        path
    }

    pub fn subproof(m: usize, d: &[Vec<u8>], complete: bool) -> Vec<Hash> {
        if m == d.len() {
            return if complete { Vec::new() } else { vec![mth(d)] };
        }
        let k = k(d.len());
        let (mut proof, sibling) = if m <= k {
            (subproof(m, &d[..k], complete), mth(&d[k..]))
        } else {
            (subproof(m - k, &d[k..], false), mth(&d[..k]))
        };
        proof.push(sibling);
        proof
    }
}

fn entries(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| number.to_string().into_bytes()).collect()
}

fn hashes(entries: &[Vec<u8>]) -> Vec<TreeHash> {
    entries.iter().map(|entry| TreeHash::of_leaf(entry)).collect()
}

fn bytes(path: Option<Vec<TreeHash>>) -> Vec<[u8; 32]> {
    path.expect("a proof").into_iter().map(|hash| hash.0).collect()
}

/// Checks one tree: root, every wanted inclusion proof and consistency proof, and that each fails elsewhere.
fn check(entries: &[Vec<u8>], indices: impl Iterator<Item = usize>, olds: impl Iterator<Item = usize>) {
    let leaves = hashes(entries);
    let (root, size) = (root_of(&leaves), leaves.len() as u64);
    assert_eq!(root.0, reference::mth(entries), "root of {size}");
    for index in indices {
        let path = inclusion_path(&leaves, index).expect("the leaf is in the tree");
        assert_eq!(bytes(Some(path.clone())), reference::path(index, entries), "leaf {index} of {size}");
        let at = index as u64;
        assert_eq!(root_from_path(leaves[index], at, size, &path), Some(root));
        for other in (0..size).filter(|other| *other != at) {
            assert_ne!(root_from_path(leaves[index], other, size, &path), Some(root), "leaf {at} at {other} of {size}");
        }
        assert_ne!(root_from_path(TreeHash([7; 32]), at, size, &path), Some(root));
        assert_eq!(root_from_path(leaves[index], at, size, &[&path[..], &[root]].concat()), None);
        if let Some((_, shorter)) = path.split_last() {
            assert_eq!(root_from_path(leaves[index], at, size, shorter), None);
        }
    }
    for old in olds {
        let path = consistency_path(&leaves, old).expect("the tree was as large");
        let expected = if old == 0 { Vec::new() } else { reference::subproof(old, entries, true) };
        assert_eq!(bytes(Some(path.clone())), expected, "{old} to {size}");
        let old_root = root_of(&leaves[..old]);
        assert_eq!(is_consistent(old as u64, old_root, size, root, &path), size > 0 || old == 0, "{old} to {size}");
        if old > 0 {
            assert!(!is_consistent(old as u64, TreeHash([7; 32]), size, root, &path));
            assert!(!is_consistent(old as u64, old_root, size, TreeHash([7; 32]), &path));
            assert!(!is_consistent(old as u64, old_root, size, root, &[&path[..], &[root]].concat()));
            for at in 0..path.len() {
                let mut flipped = path.clone();
                flipped[at].0[31] ^= 1;
                assert!(!is_consistent(old as u64, old_root, size, root, &flipped), "{old} to {size}, hash {at}");
            }
        }
    }
}

#[test]
fn every_proof_of_every_tree_of_up_to_64_leaves_is_that_of_the_reference() {
    for size in 0..=64 {
        check(&entries(size), 0..size, 0..=size);
        let leaves = hashes(&entries(size));
        assert_eq!(inclusion_path(&leaves, size), None);
        assert_eq!(consistency_path(&leaves, size + 1), None);
    }
}

proptest! {
    #[test]
    fn a_random_tree_has_the_proofs_of_the_reference(
        entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 1..200),
        index in any::<prop::sample::Index>(),
        old in any::<prop::sample::Index>(),
    ) {
        // Equal contents make equal hashes, where another index may lead to the same root.
        let entries: Vec<Vec<u8>> =
            entries.into_iter().enumerate().map(|(at, entry)| [entry, at.to_string().into_bytes()].concat()).collect();
        let (index, old) = (index.index(entries.len()), old.index(entries.len() + 1));
        check(&entries, std::iter::once(index), std::iter::once(old));
    }

    #[test]
    fn a_frontier_is_rebuilt_from_its_peaks(size in 0_usize..2000, more in 0_usize..100) {
        let leaves = hashes(&entries(size + more));
        let mut whole = Frontier::default();
        leaves[..size].iter().for_each(|leaf| whole.push(*leaf));
        let mut again = Frontier::from_parts(size as u64, whole.peaks().to_vec()).expect("its own peaks");
        prop_assert_eq!(&again, &whole);
        leaves[size..].iter().for_each(|leaf| again.push(*leaf));
        prop_assert_eq!(again.root(), root_of(&leaves));
    }
}

#[test]
fn roots_of_the_tree_that_certificate_transparency_tests_with() {
    let leaves: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut frontier = Frontier::default();
    for (leaf, root) in leaves.into_iter().zip(roots) {
        frontier.push(TreeHash::of_leaf(leaf));
        let hex: String = frontier.root().0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, root);
    }
}

#[test]
fn a_hash_has_one_text() {
    let text = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
    assert_eq!(text.parse::<TreeHash>().map(|hash| hash.to_string()).as_deref(), Ok(text));
    for wrong in
        ["CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=", "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I", "CsUY", ""]
    {
        assert_eq!(wrong.parse::<TreeHash>(), Err(NotATreeHash), "{wrong}");
    }
    assert_eq!(Frontier::from_parts(3, vec![TreeHash([0; 32])]), None, "three leaves have two peaks");
}
