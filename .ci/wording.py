"""Checks the language of comments, texts in code, identifiers, and pages (CONTRIBUTING.md, Wording)."""

import re

from workspace import TOKENS, code, comments, is_test, without_tests

# Words that need a second reading in texts that a user sees.
WORDS = re.compile(
    r"\b(?:told|tells?|stands?|stood|goes on|go on|beside|lets? go|holds? up|lies in|comes to nothing|what is to be"
    r"|is called so|put away|becomes?|nobody|anybody|whatever|of ours|of theirs)\b",
    re.IGNORECASE,
)
# Those in comments and pages, where something may become durable.
PROSE = re.compile(WORDS.pattern.replace("|becomes?", "|somebody|whoever|spoken to"), re.IGNORECASE)
# Constructions that do, each with what to write instead.
GRAMMAR = re.compile(
    # "X is not a Y", or what X is.
    r"(?<!there )\b(?:is|are|was|were|be|been|being) no (?!(?:longer|shorter|wider|larger|later|older|newer|more|less|such|one)\b)\w+"
    # The person or thing: "for readers of", "the process that".
    r"|\b(?:for|of|to|by|with|from|as|than|in) who\b"
    # "the result of", "the time of creation".
    r"|\b(?:came|comes?|coming) to\b(?! an? (?:end|stop|halt))"
    # The noun: its kind, its purpose, its content.
    r"|\bwhat (?:it|they) (?:is|are|was|were)\b(?! (?:not|about))"
    # The noun: "number of steps after which".
    r"|(?:^|[.:] )(?:After|By|To|From|For|With|In|Of|Since|Until|Up to|On) (?:how|what|which|whose|whom)\b",
    re.IGNORECASE,
)
# The noun that a variable, a field or a module holds: `text`, `message`, `remark`; the work or the result of a function.
IDENTIFIER = re.compile(r"\b(?:(?:un)?told|tells?|telling|stands|stood|fn (?:said|says))\b")
# Strings of fewer words are names and formats.
SENTENCE = 4
# Texts that cannot change, because requests that were recorded are built from them again.
FIXED = {"projections/src/compaction/summary_request.rs"}
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


def sentences(text):
    """The string literals of a Rust file outside of its tests that have the length of a sentence, and the numbers of their lines."""
    tested = without_tests(code(text)).splitlines()
    for match in TOKENS.finditer(text):
        string = match.group("string") or match.group("raw")
        number = text.count("\n", 0, match.start()) + 1
        if string and len(string.split()) >= SENTENCE and tested[number - 1].strip() and re.search("[a-z]", string):
            yield number, re.sub(r"`[^`]*`", "``", CAPTURE.sub("{}", string))


def blanked(match):
    """The line breaks of a match."""
    return "\n" * match.group().count("\n")


MARKER = re.compile(r"(?:[-*]|\d+\.|#+|\|)(?:\s+|$)")


def paragraphs(lines):
    """Paragraphs, items of lists, headings and cells of tables in numbered lines: the number of the first line, and the text on one
    line without its marker."""
    number, words = 0, []
    for at, line in [*lines, (0, "")]:
        text = line.strip()
        marker = MARKER.match(text)
        if words and (not text or marker or at != number + len(words)):
            yield number, " ".join(words)
            words = []
        if text.startswith("|"):
            yield from ((at, cell.strip()) for cell in text.strip("|").split("|"))
        elif marker and text.startswith("#"):
            yield at, text[marker.end() :]
        elif text:
            number = number if words else at
            words.append(text[marker.end() :] if marker else text)


def prose(lines):
    """Words and constructions in paragraphs that need a second reading."""
    for number, text in paragraphs(lines):
        text = QUOTED.sub(lambda quoted: quoted.group()[0] * 2, text)
        for pattern in (PROSE, GRAMMAR):
            for match in pattern.finditer(text):
                yield number, match.group().strip(". :")


def problems(crate):
    """Texts of a crate that need a second reading."""
    for path in crate.files("src"):
        if is_test(path):
            continue
        text = path.read_text(encoding="utf-8")
        texts = {*messages(text), *(() if str(path) in FIXED else sentences(text))}
        found = {(number, match.group()) for number, one in texts for match in [*WORDS.finditer(one), *GRAMMAR.finditer(one)]}
        found.update(prose([(number, re.sub(r"^(///?|//!|/\*+) ?", "", comment)) for number, comment in comments(text)]))
        rows = enumerate(code(text).splitlines(), 1)
        found.update((number, match.group()) for number, row in rows for match in IDENTIFIER.finditer(row))
        for number, words in sorted(found):
            yield f"{path}:{number}: {words!r} (CONTRIBUTING.md, Wording)"
