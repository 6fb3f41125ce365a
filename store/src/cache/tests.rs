use super::{FoldVersion, Saved, ViewCache};
use crate::conformance::material::session;
use annals_core::{Digest, Seq};

const HISTORY: FoldVersion<'_> = FoldVersion { name: "history", version: 1 };

fn view(seq: u64) -> Saved {
    Saved { seq: Seq(seq), digest: Digest::of(&seq.to_le_bytes()), bytes: vec![seq as u8; 9] }
}

fn both(try_it: impl Fn(&ViewCache)) {
    let dir = tempfile::tempdir().unwrap();
    try_it(&ViewCache::in_folder(dir.path().join("cache")));
    try_it(&ViewCache::in_memory());
}

#[test]
fn the_nearest_view_at_a_place_or_before_it_is_found() {
    both(|cache| {
        assert_eq!(cache.nearest(session(1), HISTORY, Seq(9)), None);
        for seq in [2, 5, 9] {
            cache.put(session(1), HISTORY, &view(seq)).unwrap();
        }
        for (at_most, found) in [(1, None), (2, Some(2)), (8, Some(5)), (9, Some(9)), (100, Some(9))] {
            assert_eq!(cache.nearest(session(1), HISTORY, Seq(at_most)), found.map(view), "at {at_most}");
        }
        assert_eq!(cache.nearest(session(2), HISTORY, Seq(9)), None);
        assert_eq!(cache.nearest(session(1), FoldVersion { version: 2, ..HISTORY }, Seq(9)), None);
        assert_eq!(cache.nearest(session(1), FoldVersion { name: "../usage", version: 1 }, Seq(9)), None);
        cache.clear().unwrap();
        assert_eq!(cache.nearest(session(1), HISTORY, Seq(9)), None);
    });
}

#[test]
fn few_views_are_kept_and_the_newest_is_always_there() {
    both(|cache| {
        for seq in 1..=200 {
            cache.put(session(1), HISTORY, &view(seq)).unwrap();
            assert_eq!(cache.nearest(session(1), HISTORY, Seq(u64::MAX)), Some(view(seq)));
        }
        assert_eq!(cache.nearest(session(1), HISTORY, Seq(1)), Some(view(1)));
        let found = (1..=200).filter(|seq| cache.nearest(session(1), HISTORY, Seq(*seq)) == Some(view(*seq))).count();
        assert_eq!(found, super::KEPT);
    });
}

#[test]
fn a_damaged_view_or_page_reads_as_absent() {
    let dir = tempfile::tempdir().unwrap();
    let cache = ViewCache::in_folder(dir.path());
    cache.put(session(1), HISTORY, &view(3)).unwrap();
    cache.put(session(1), HISTORY, &view(7)).unwrap();
    let path = super::folder(dir.path(), session(1), HISTORY).join(super::view_name(Seq(7)));
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(cache.nearest(session(1), HISTORY, Seq(9)), Some(view(3)), "byte {at}");
    }
    let hash = cache.put_page(b"a page").unwrap();
    assert_eq!(cache.get_page(&hash).as_deref(), Some(&b"a page"[..]));
    let page = super::page_folder(dir.path(), &hash).join(hash.to_string());
    std::fs::write(&page, b"a Page").unwrap();
    assert_eq!(cache.get_page(&hash), None);
    assert_eq!(cache.put_page(b"a page").unwrap(), hash);
    assert_eq!(cache.get_page(&hash).as_deref(), Some(&b"a page"[..]));
}
