use super::*;

/// Parts in a few words: `P one`, `S summary`, `T two`, `C id input`, `R id text`, `K context`, `Z reasoning`, `M media`.
fn list(words: &[&str]) -> Vec<ConversationPart> {
    let part = |words: &&str| {
        let (kind, text) = words.split_once(' ').unwrap();
        let id = || text.split_once(' ').unwrap();
        match kind {
            "P" => ConversationPart::of(PartKind::Prompt, text),
            "S" => ConversationPart::of(PartKind::Summary, text),
            "T" => ConversationPart::of(PartKind::Text, text),
            "K" => ConversationPart::of(PartKind::Context, text),
            "M" => ConversationPart::of(PartKind::Media, text),
            "Z" => ConversationPart::of(PartKind::Reasoning, text),
            "C" => ConversationPart::call(id().0, "f", id().1),
            _ => ConversationPart::result(id().0, id().1, std::iter::empty()),
        }
    };
    words.iter().map(part).collect()
}

/// For each part of the body: the known one, with `!` where it was replaced; `-` for a new one. Then those that were left out.
fn alignment_words(old: &[&str], new: &[&str]) -> (String, Vec<usize>, Option<usize>) {
    let found = align(&list(old), &list(new));
    let pairs = found.of_new.iter().map(|pairing| match pairing {
        Some(Pairing { at, is_same: true }) => at.to_string(),
        Some(Pairing { at, is_same: false }) => format!("{at}!"),
        None => "-".to_owned(),
    });
    let left = (0..old.len()).filter(|of| !found.kept[*of]).collect();
    (pairs.collect::<Vec<_>>().join(" "), left, found.undone)
}

#[test]
fn what_agents_do_to_their_history_is_recognised() {
    let turn: &[&str] = &["P a", "Z hm", "T x", "C 1 {}", "R 1 out"];
    type Case<'c> = (&'c str, &'c [&'c str], &'c [&'c str], &'c str, &'c [usize], Option<usize>);
    let cases: &[Case<'_>] = &[
        ("continued", turn, &["P a", "Z hm", "T x", "C 1 {}", "R 1 out", "P b"], "0 1 2 3 4 -", &[], None),
        ("reasoning dropped", turn, &["P a", "T x", "C 1 {}", "R 1 out"], "0 2 3 4", &[1], None),
        ("result replaced", turn, &["P a", "Z hm", "T x", "C 1 {}", "R 1 cut"], "0 1 2 3 4!", &[], None),
        ("arguments edited", turn, &["P a", "Z hm", "T x", "C 1 {\"b\":1}", "R 1 out"], "0 1 2 3! 4", &[], None),
        ("call renamed", &turn[..4], &["P a", "Z hm", "T x", "C 9 {}", "R 9 out"], "0 1 2 3 -", &[], None),
        ("answer edited", &["P a", "T x"], &["P a", "T y", "P b"], "0 1! -", &[], None),
        ("first prompt edited", &["P a", "T x", "P b", "T y"], &["P c", "T x", "P b", "T y"], "0! 1 2 3", &[], None),
        ("undone", &["P a", "T x", "P b", "T y"], &["P a", "T x", "P c"], "0 1 -", &[2, 3], Some(2)),
        ("asked again", &["P a", "T x", "P b"], &["P a", "T x", "P c"], "0 1 2!", &[], None),
        ("answer not sent back", &["P a", "T x"], &["P a", "P b"], "0 -", &[1], None),
        ("from the middle", &["P a", "T x", "P b", "T y"], &["P a", "P b", "T y"], "0 2 3", &[1], None),
        (
            "pictures before the text",
            &["P a", "M 1", "M 2", "T x"],
            &["M 1", "M 2", "P a", "T x", "M 3", "P b"],
            "1 2 0 3 - -",
            &[],
            None,
        ),
        (
            "a picture that was sent before, again with a prompt",
            &["P a", "M 1", "T x", "P b", "M 1", "T y"],
            &["P a", "M 1", "T x", "M 1", "P b", "T y", "P c"],
            "0 1 2 4 3 5 -",
            &[],
            None,
        ),
        (
            "text behind pictures edited",
            &["P a", "M 1", "M 2", "T x"],
            &["M 1", "M 2", "P b", "T x"],
            "1 2 0! 3",
            &[],
            None,
        ),
        (
            "window",
            &["P g", "T 0", "P g", "T 1", "P g", "T 2"],
            &["P g", "T 1", "P g", "T 2", "P g"],
            "0 3 4 5 -",
            &[1, 2],
            None,
        ),
        (
            "contexts behind what stays",
            &["K a", "K b", "P p", "T x"],
            &["P s", "T x", "K a", "K b"],
            "2! 3 0 1",
            &[],
            None,
        ),
        ("summary as an answer", &["S s"], &["P did", "T s", "P b"], "- 0 -", &[], None),
        ("summary with words around it", &["S s"], &["P about s", "T x", "P b"], "0! - -", &[], None),
        (
            "inserted before others, known last",
            &["P a", "T x", "P g", "T ok"],
            &["P g", "T ok", "P a", "T x", "P b"],
            "2 3 0 1 -",
            &[],
            None,
        ),
        ("a summary behind what stays", &["S s", "P a"], &["P a", "P s"], "1 0", &[], None),
        ("contexts move", &["K r", "P a", "T x"], &["P a", "T x", "K r", "P b"], "1 2 0 -", &[], None),
    ];
    for (name, old, new, pairs, left, undone) in cases {
        assert_eq!(alignment_words(old, new), ((*pairs).to_owned(), left.to_vec(), *undone), "{name}");
    }
}
