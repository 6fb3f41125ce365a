//! Paths as calls name them.

use crate::recorded_path;

/// A path below `directory` relative to it, any other one absolute; `.` and `..` are resolved by their letters alone.
pub(super) fn resolved(path: &str, directory: &str) -> String {
    let whole = recorded_path::resolved(path, directory);
    let below = recorded_path::below(&whole, &recorded_path::resolved("", directory)).map(str::to_owned);
    below.unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::resolved;

    #[test]
    fn paths_below_the_directory_are_relative_to_it() {
        assert_eq!(resolved("/srv/demo/a/b.rs", "/srv/demo"), "a/b.rs");
        assert_eq!(resolved("./a/../b.rs", "/srv/demo"), "b.rs");
        assert_eq!(resolved("file:///srv/demo/b.rs", "/srv/demo"), "b.rs");
        assert_eq!(resolved("../other", "/srv/demo"), "/srv/other");
        assert_eq!(resolved("/srv/demo-2/x", "/srv/demo"), "/srv/demo-2/x");
        assert_eq!(resolved("../../../../x", "/srv/demo"), "/x");
        assert_eq!(resolved(r"c:\Users\x\shop\src\a.rs", r"C:\Users\x\shop"), "src/a.rs");
        assert_eq!(resolved(r"src\a.rs", r"C:\Users\x\shop"), "src/a.rs");
        assert_eq!(resolved(r"C:\Windows\a.ini", r"C:\Users\x\shop"), "C:/Windows/a.ini");
    }
}
