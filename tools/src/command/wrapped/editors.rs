//! Programs whose arguments are programs themselves, of which only plain ones are what a rule for their name means.

/// Whether such a program does more than to print; `None` of any other one.
pub(super) fn goes_further(name: &str, words: &[&str]) -> Option<bool> {
    match name {
        "sed" | "gsed" => Some(!is_plain_sed(words)),
        // `>` compares, too: that is asked for once more than needed.
        "awk" | "gawk" | "mawk" | "nawk" => Some(words.iter().any(|word| {
            let option = word.strip_prefix('-').is_some_and(|rest| rest.starts_with(['f', 'i', 'l', 'E', '-']));
            option || ["system", "getline", "@", "|", ">"].iter().any(|part| word.contains(part))
        })),
        // A second file is written.
        "uniq" | "xxd" => Some(words.iter().filter(|word| !word.starts_with('-')).count() > 1),
        // A variable may name the shell.
        "make" | "gmake" if words.iter().any(|word| word.contains('=') && !word.starts_with('-')) => Some(true),
        _ => None,
    }
}

/// Whether all scripts of `sed` only print, delete and replace.
fn is_plain_sed(words: &[&str]) -> bool {
    let (mut scripts, mut operands): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-e" | "--expression" => scripts.extend(words.next().copied()),
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet" | "--silent"
            | "--regexp-extended" => {}
            option if option.starts_with('-') && option.len() > 1 => return false,
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first().copied());
    }
    scripts.iter().all(|script| script.split(['\n', ';']).all(|command| is_plain(command.trim())))
}

/// Whether one command of `sed` only prints, deletes or replaces. What cannot be read here is not plain.
fn is_plain(command: &str) -> bool {
    let mut rest = command;
    // Addresses: numbers, the last line, expressions between slashes.
    loop {
        rest = rest
            .trim_start_matches(|one: char| one.is_ascii_digit() || matches!(one, '$' | ',' | '!' | '~' | '+' | ' '));
        let Some(inner) = rest.strip_prefix('/') else { break };
        let Some((_, after)) = inner.split_once('/') else { return false };
        rest = after.trim_start_matches('I');
    }
    let Some(replaced) = rest.strip_prefix('s') else {
        return matches!(rest, "" | "p" | "d" | "q" | "=" | "P" | "D" | "l");
    };
    let Some(mark) = replaced.chars().next().filter(|one| one.is_ascii_punctuation() && *one != '\\') else {
        return false;
    };
    let parts: Vec<&str> = replaced.split(mark).collect();
    let [_, _, _, flags] = parts.as_slice() else { return false };
    flags.chars().all(|one| one.is_ascii_digit() || matches!(one, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'))
}
