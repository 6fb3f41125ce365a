//! What can be said of permission patterns without a text to match (`docs/reference/permissions.md`): whether two can
//! match the same, and whether one matches all that another does.

use alloc::vec;
use alloc::vec::Vec;

/// The plain patterns that a pattern includes: a trailing ` *` may be missing altogether, and a backslash is a slash.
fn plain(pattern: &str) -> Vec<Vec<char>> {
    let chars = |text: &str| text.chars().map(|c| if c == '\\' { '/' } else { c }).collect::<Vec<_>>();
    let mut all = vec![chars(pattern)];
    all.extend(pattern.strip_suffix(" *").map(chars));
    all
}

/// Whether some text matches both.
pub fn overlap(a: &str, b: &str) -> bool {
    plain(a).iter().any(|a| plain(b).iter().any(|b| meet(a, b)))
}

/// Whether every text that matches `narrow` matches `broad`. May say no where the answer is yes, never the reverse.
pub fn covers(broad: &str, narrow: &str) -> bool {
    plain(narrow).iter().all(|narrow| plain(broad).iter().any(|broad| includes(broad, narrow)))
}

/// Fills a table from the ends of both patterns to their beginnings: linear in each.
fn judge(
    a: &[char],
    b: &[char],
    step: impl Fn(Option<char>, Option<char>, &dyn Fn(usize, usize) -> bool) -> bool,
) -> bool {
    let width = b.len() + 1;
    let mut table = vec![false; (a.len() + 1) * width];
    for i in (0..=a.len()).rev() {
        for j in (0..width).rev() {
            let known = |di: usize, dj: usize| table.get((i + di) * width + j + dj).copied().unwrap_or(false);
            let holds = step(a.get(i).copied(), b.get(j).copied(), &known);
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = holds;
            }
        }
    }
    table.first().copied().unwrap_or(false)
}

fn meet(a: &[char], b: &[char]) -> bool {
    judge(a, b, |a, b, rest| match (a, b) {
        (None, None) => true,
        (Some('*'), b) if rest(1, 0) || b.is_some() && rest(0, 1) => true,
        (a, Some('*')) => rest(0, 1) || a.is_some() && rest(1, 0),
        (Some(a), Some(b)) if a != '*' && (a == b || a == '?' || b == '?') => rest(1, 1),
        _ => false,
    })
}

fn includes(broad: &[char], narrow: &[char]) -> bool {
    judge(broad, narrow, |broad, narrow, rest| match (broad, narrow) {
        (None, None) => true,
        (Some('*'), narrow) => rest(1, 0) || narrow.is_some() && rest(0, 1),
        (_, Some('*')) => false,
        (Some('?'), Some(_)) => rest(1, 1),
        (Some(broad), Some(narrow)) => broad == narrow && rest(1, 1),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{covers, overlap};
    use crate::permission::matches;
    use alloc::string::String;
    use alloc::vec::Vec;
    use alloc::{format, vec};

    /// Every text of at most `length` letters of an alphabet.
    fn all(alphabet: &str, length: usize) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut last = texts.clone();
        for _ in 0..length {
            last = last.iter().flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}"))).collect();
            texts.extend(last.iter().cloned());
        }
        texts
    }

    #[test]
    fn two_patterns_overlap_exactly_when_some_text_matches_both() {
        let patterns = all("a *?", 3);
        let texts = all("ab ", 6);
        for a in &patterns {
            let own: Vec<&String> = texts.iter().filter(|text| matches(a, text)).collect();
            for b in &patterns {
                assert_eq!(overlap(a, b), own.iter().any(|text| matches(b, text)), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn a_pattern_covers_another_only_if_it_matches_all_that_the_other_does() {
        let patterns = all("a *?", 3);
        let texts = all("ab ", 5);
        for narrow in &patterns {
            let own: Vec<&String> = texts.iter().filter(|text| matches(narrow, text)).collect();
            for broad in &patterns {
                if covers(broad, narrow) {
                    let outside = own.iter().find(|text| !matches(broad, text));
                    assert_eq!(outside, None, "{broad:?} does not cover {narrow:?}");
                }
            }
        }
        assert!(covers("*", "a*b") && covers("git *", "git log") && covers("git *", "git") && covers("a/*", "a\\b"));
        assert!(!covers("git", "git *") && !covers("?", "*") && !covers("a*", "*"));
    }
}
