"""Checks the language of comments, help texts, error messages, names of functions, and pages (CONTRIBUTING.md, Wording)."""

import re

from workspace import TOKENS, comments, is_test

# Words that need a second reading.
WORDS = re.compile(
    r"\b(?:told|tells?|stands?|stood|goes on|go on|beside|lets? go|holds? up|lies in|comes to nothing|what is to be"
    r"|is called so|put away|becomes?|nobody|anybody|whatever|of ours|of theirs)\b",
    re.IGNORECASE,
)
# Those in comments and pages, where something may become durable.
PROSE = re.compile(WORDS.pattern.replace("|becomes?", "|somebody|whoever|spoken to"), re.IGNORECASE)
# Code and quotations in prose.
QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"", re.DOTALL)
CAPTURE = re.compile(r"\{[^{}]*\}")
ERROR = re.compile(r"#\[error\(")
HELP = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct Args|enum Command|struct Cli)\b", re.MULTILINE)


def messages(text):
    """The help texts and error messages of a Rust file, each with the number of its line."""
    for match in ERROR.finditer(text):
        string = TOKENS.search(text, match.end())
        if string and (string.group("string") or string.group("raw")) and not text[match.end() : string.start()].strip():
            yield text.count("\n", 0, string.start()) + 1, CAPTURE.sub("{}", string.group())
    rows = text.splitlines()
    for match in HELP.finditer(text):
        row = text.count("\n", 0, match.start())
        end = next((at for at in range(row, len(rows)) if rows[at] == "}"), row)
        start = row
        while start > 0 and rows[start - 1].startswith(("///", "#[")):
            start -= 1
        for at in range(start, end):
            if rows[at].lstrip().startswith("///"):
                yield at + 1, rows[at].strip()


def blanked(match):
    """The line breaks of a match."""
    return "\n" * match.group().count("\n")


def problems(crate):
    """Texts of a crate that need a second reading."""
    for path in crate.files("src"):
        if is_test(path):
            continue
        text = path.read_text(encoding="utf-8")
        for number, message in messages(text):
            for match in WORDS.finditer(message):
                yield f"{path}:{number}: {match.group()!r} in a text for users (CONTRIBUTING.md, Wording)"
        for number, comment in comments(text):
            for match in PROSE.finditer(QUOTED.sub(blanked, comment)):
                yield f"{path}:{number}: {match.group()!r} in a comment (CONTRIBUTING.md, Wording)"
