//! Paths as calls name them.

/// A path below `directory` relative to it, any other one absolute; `.` and `..` are resolved by their letters alone.
pub(super) fn resolved(path: &str, directory: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let whole = match path.starts_with('/') || directory.is_empty() {
        true => path.to_owned(),
        false => format!("{directory}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if directory.is_empty() && !whole.starts_with('/') {
        return joined;
    }
    let root = directory.trim_matches('/');
    let below = if root.is_empty() { None } else { joined.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) };
    below.map_or_else(|| format!("/{joined}"), str::to_owned)
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
    }
}
