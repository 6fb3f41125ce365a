use super::*;

fn found(pattern: &str, line: &str) -> Option<Range<usize>> {
    SearchPattern::parse(pattern, &[]).unwrap().in_line(line).map(|(_, range)| range)
}

fn matches(pattern: &str, text: &str) -> bool {
    SearchPattern::parse(pattern, &[]).unwrap().matches(&[Cow::Borrowed(text)])
}

#[test]
fn case_matters_only_for_a_term_with_capitals() {
    assert_eq!(found("fix", "To FIX it"), Some(3..6));
    assert_eq!(found("Fix", "To FIX it"), None);
    assert_eq!(found("Fix", "Fix it"), Some(0..3));
}

#[test]
fn a_place_is_found_where_lower_case_has_another_length() {
    assert_eq!(found("fix", "İ fix"), Some(3..6));
    assert_eq!(found("öl", "ẞ ÖL"), Some(4..7));
}

#[test]
fn every_word_must_match_somewhere_and_a_phrase_as_it_is() {
    assert!(matches("inventory spare", "the spare parts\nof the inventory"));
    assert!(!matches("inventory missing", "the spare parts\nof the inventory"));
    assert!(!matches("\"spare inventory\"", "the spare parts of the inventory"));
    assert!(matches("\"spare parts\" of", "the spare parts of the inventory"));
    assert!(matches("\"no end", "there is no end"));
}

#[test]
fn an_empty_search_is_refused() {
    assert_eq!(SearchPattern::parse("  \"\" ", &[]).unwrap_err(), SearchPatternError::Empty);
}

#[test]
fn a_regular_expression_is_matched_line_by_line() {
    let pattern = SearchPattern::parse("", &["^err.*42$".to_owned()]).unwrap();
    assert!(pattern.matches(&["one\nError 42\ntwo".into()]));
    assert!(!pattern.matches(&["error\n42".into()]));
    let pattern = SearchPattern::parse("", &["^Err".to_owned()]).unwrap();
    assert!(!pattern.matches(&["err".into()]));
    assert!(SearchPattern::parse("", &["(".to_owned()]).is_err());
}

#[test]
fn a_path_is_named_by_its_end() {
    assert!(
        is_path("/src/auth.rs", "auth.rs") && is_path("auth.rs", "auth.rs") && is_path("/src/auth.rs", "/src/auth.rs")
    );
    assert!(!is_path("/src/oauth.rs", "auth.rs") && !is_path("/src/auth.rs", "src"));
    assert!(is_path("/a/src/auth.rs", "src/") && !is_path("/a/src2/auth.rs", "src/"));
    let windows = r"C:\Users\x\shop\src\auth.rs";
    for asked in ["auth.rs", "src/auth.rs", r"src\auth.rs", "src/", r"src\", windows] {
        assert!(is_path(windows, asked), "{asked}");
    }
    assert!(!is_path(windows, "uth.rs") && !is_path(windows, "lib/"));
    let pattern = SearchPattern::parse("file:./src/a.rs panic \"file:x\"", &[]).unwrap();
    assert_eq!((pattern.files(), pattern.terms()), (&["src/a.rs".to_owned()][..], 2));
}
