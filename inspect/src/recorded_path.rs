//! Paths as agents recorded them. The session may come from another machine, so that its paths are not those of the system
//! that this program runs on: `C:\Users\x\shop` is a directory here as well.

/// Whether a path is an absolute one of Windows: `C:\x`, `C:/x`, `\\server\share\x`, `\\?\C:\x`.
pub fn is_windows(path: &str) -> bool {
    match path.as_bytes() {
        [b'\\', b'\\', _, ..] => true,
        [drive, b':', rest @ ..] => {
            drive.is_ascii_alphabetic() && rest.first().is_none_or(|at| matches!(at, b'\\' | b'/'))
        }
        _ => false,
    }
}

/// Whether a path is an absolute one, of any system.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_windows(path)
}

/// The last name of a path; empty for a root.
pub fn last_name(path: &str) -> &str {
    names(path).next_back().unwrap_or_default()
}

/// The names of a path, without those of a drive. A backslash separates names in paths of Windows only.
pub fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let windows = is_windows(path);
    let is_drive = move |name: &str| windows && name.ends_with(':');
    path.split(separators(windows)).filter(move |name| !name.is_empty() && *name != "?" && !is_drive(name))
}

/// The part of a path below a directory, as it was recorded; `None` where it is not below it, or is the directory itself.
pub fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let windows = is_windows(directory);
    let directory = directory.trim_end_matches(separators(windows));
    let (head, rest) = path.split_at_checked(directory.len())?;
    let is_separator = |byte: u8| matches!(byte, b'/' | b'\\');
    let same =
        |(a, b): (u8, u8)| a == b || windows && (a.eq_ignore_ascii_case(&b) || is_separator(a) && is_separator(b));
    let is_below = !directory.is_empty() && head.bytes().zip(directory.bytes()).all(same);
    let rest = rest.strip_prefix(separators(windows)).filter(|rest| is_below && !rest.is_empty())?;
    Some(rest)
}

/// An absolute path, or one from `directory` on, with slashes, without `.` and `..`, and with the drive in upper case. Links are
/// not followed. A path stays relative where the directory is empty.
pub fn resolved(path: &str, directory: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    // `file:///C:/x`
    let path = path.strip_prefix('/').filter(|rest| is_windows(rest)).unwrap_or(path);
    let whole = match is_absolute(path) || directory.is_empty() {
        true => path.to_owned(),
        false => format!("{directory}/{path}"),
    };
    let windows = is_windows(&whole);
    // `\\?\` only says that the path is to be taken as it is.
    let whole = whole.strip_prefix(r"\\?\").unwrap_or(&whole);
    let (root, rest) = match whole.split_at_checked(2) {
        Some((drive, rest)) if windows && is_windows(drive) => (format!("{}/", drive.to_ascii_uppercase()), rest),
        Some((r"\\", rest)) if windows => ("//".to_owned(), rest),
        _ if whole.starts_with('/') => ("/".to_owned(), whole),
        _ => (String::new(), whole),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split(separators(windows)) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{root}{}", parts.join("/"))
}

const fn separators(windows: bool) -> &'static [char] {
    if windows { &['/', '\\'] } else { &['/'] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_that_of_the_system_that_recorded_the_path() {
        let paths = [
            ("/srv/shop", "shop"),
            ("/srv/shop/", "shop"),
            (r"/srv/a\b", r"a\b"),
            (r"C:\Users\x\shop", "shop"),
            (r"C:\Users\x\shop\", "shop"),
            ("c:/Users/x/shop", "shop"),
            (r"C:\Users/x\my shop", "my shop"),
            (r"\\server\share\shop", "shop"),
            (r"\\?\C:\Users\x\shop", "shop"),
            (r"\\wsl$\Ubuntu\home\x\shop", "shop"),
            ("shop", "shop"),
            ("/", ""),
            (r"C:\", ""),
            (r"\\?\C:\", ""),
            ("", ""),
        ];
        for (path, name) in paths {
            assert_eq!(last_name(path), name, "{path}");
        }
    }

    #[test]
    fn a_path_is_below_a_directory_whichever_separators_were_recorded() {
        assert_eq!(below("/srv/shop/src/a.rs", "/srv/shop"), Some("src/a.rs"));
        assert_eq!(below(r"C:\Users\x\shop\src\a.rs", r"C:\Users\x\shop"), Some(r"src\a.rs"));
        assert_eq!(below("c:/users/x/shop/src/a.rs", r"C:\Users\x\shop\"), Some("src/a.rs"));
        for (path, directory) in [
            ("/srv/shop", "/srv/shop"),
            ("/srv/shop/", "/srv/shop"),
            ("/srv/shopping/a", "/srv/shop"),
            ("/SRV/shop/a", "/srv/shop"),
            (r"/srv\shop\a", "/srv/shop"),
            (r"C:\Users\x\shopping", r"C:\Users\x\shop"),
            (r"D:\Users\x\shop\a", r"C:\Users\x\shop"),
            ("ä", "/"),
            ("/a", ""),
        ] {
            assert_eq!(below(path, directory), None, "{path} below {directory}");
        }
    }

    #[test]
    fn paths_are_resolved_by_their_letters_alone() {
        let shop = r"c:\Users\x\shop";
        for (path, directory, whole) in [
            ("./a/../b.rs", "/srv/demo", "/srv/demo/b.rs"),
            ("../../../../x", "/srv/demo", "/x"),
            ("file:///srv/b.rs", "/srv/demo", "/srv/b.rs"),
            (r"src\..\b.rs", shop, "C:/Users/x/shop/b.rs"),
            ("src/b.rs", shop, "C:/Users/x/shop/src/b.rs"),
            (r"D:\b.rs", shop, "D:/b.rs"),
            ("file:///C:/b.rs", shop, "C:/b.rs"),
            (r"..\..\..\..\b.rs", shop, "C:/b.rs"),
            (r"\\?\C:\b.rs", shop, "C:/b.rs"),
            (r"\\server\share\b.rs", shop, "//server/share/b.rs"),
            ("/etc/passwd", shop, "/etc/passwd"),
            ("a/./b", "", "a/b"),
            ("", shop, "C:/Users/x/shop"),
        ] {
            assert_eq!(resolved(path, directory), whole, "{path} in {directory}");
        }
    }
}
