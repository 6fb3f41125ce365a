"""Checks the Markdown pages: words (CONTRIBUTING.md, Wording), links to files and headings, names of files, the width of lines.

    .ci/pages.py wrap    wraps paragraphs and lists of the pages at the root and in docs; what is code or a table stays as it is
"""

import functools
import pathlib
import re
import subprocess
import sys

from wording import blanked, prose

# Columns of a line. Headings, images, tables and single long words are not wrapped.
WIDTH = 130
# Columns of a row of a table in docs/commands.md: longer cells belong into prose.
TABLE = 160
# Folders of pages, and pages elsewhere, whose words are checked. Other pages describe the fixtures next to them.
FOLDERS = ("docs", "packaging")
NAMES = ("FORMAT.md", "TEXTS.md")
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?\)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
# The name of a file in a code span, and those in examples.
FILE = re.compile(r"`((?:[\w.-]+/)+[\w-]+\.(?:rs|py|mjs|md))`")
EXAMPLES = ("noun/tests.rs", "src/a.rs")
ITEM = re.compile(r"(?:[-*+]|\d+\.) +")
# Headings, images, HTML, quotations, and targets of links.
KEPT = re.compile(r"[#<>]|!\[|\[[^\]]*\]:")
# A code span, and how many characters it has if it is not divided.
SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
WHOLE = 80
# What begins a block where it begins a line: it is not wrapped to that place.
BLOCK = re.compile(r"(?:[-*+>|<]|\d+[.)]|#+)(?:$|[^\w*`])|[|<>#]|```|~~~")


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.cache
def anchors(path):
    """The anchors of a page."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", FENCE.sub(blanked, path.read_text(encoding="utf-8")), re.MULTILINE):
        base = name = slug(heading)
        number = 0
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found.add(name)
    return found


def links(path, text):
    """Links to files or headings that do not exist."""
    for match in LINK.finditer(CODE.sub(lambda code: " " * len(code.group()), text)):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        number = text.count("\n", 0, match.start()) + 1
        there = (path.parent / target).resolve() if target else path.resolve()
        if not there.exists():
            yield f"{path}:{number}: no file {target}"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"{path}:{number}: no heading #{anchor} in {target or path}"


@functools.cache
def listed(*patterns):
    """The files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    return sorted({pathlib.Path(name) for name in names if name})


def names(path, text, known):
    """Files that are named but do not exist. A name may begin in any folder."""
    for match in FILE.finditer(text):
        if match[1] not in EXAMPLES and not any(f"/{one}".endswith(f"/{match[1]}") for one in known):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: no file {match[1]}"


def filled(words, first, rest):
    """Lines of words, as long as the width allows, behind the indentations of the first line and of the others."""
    lines, line = [], first
    for number, word in enumerate(words):
        opened = line in (first, rest)
        follows = words[number + 1] if number + 1 < len(words) else ""
        # The word before one that would begin a block is taken to the next line with it.
        need = len(word) + (1 + len(follows) if BLOCK.match(follows) else 0)
        if not opened and len(line) + 1 + need > WIDTH and not BLOCK.match(word):
            lines.append(line)
            line, opened = rest, True
        line += word if opened else f" {word}"
    return [*lines, line]


def wrapped(text):
    """A page whose paragraphs and items are wrapped again."""
    out, block, indent, fence = [], [], "", None

    def flush():
        if block:
            first = re.match(r" *", block[0])[0]
            marker = ITEM.match(block[0].strip())
            rest = first + " " * (marker.end() if marker else 0)
            whole = lambda span: span.group().replace(" ", "\0") if len(span.group()) <= WHOLE else span.group()
            words = [word.replace("\0", " ") for word in SPAN.sub(whole, " ".join(line.strip() for line in block)).split()]
            if marker:
                words[:2] = [f"{marker[0]}{words[1]}"]
            out.extend(filled(words, first, rest))
            block.clear()

    for line in text.split("\n"):
        bare = line.strip()
        opens = re.match(r"(```|~~~)", bare)
        if fence or opens:
            flush()
            out.append(line)
            fence = (None if fence and bare == fence else fence) if fence else opens[1]
        elif not bare or bare.startswith("|") or line.endswith("  ") or not block and KEPT.match(bare):
            flush()
            out.append(line)
        elif line.startswith("    ") and not block and not indent:
            out.append(line)
        else:
            if ITEM.match(bare):
                flush()
            block.append(line)
        indent = "item" if ITEM.match(bare) or (indent and (line.startswith(" ") or not bare)) else ""
    flush()
    return "\n".join(out)


def is_wrapped(path):
    """Whether the width of a page is checked."""
    return path.parts[0] == "docs" or len(path.parts) == 1


def widths(path, text):
    """Lines that are too long."""
    for number, line in enumerate(text.splitlines(), 1):
        row = line.lstrip().startswith("|")
        limit = TABLE if row and path.name == "commands.md" else WIDTH
        if len(line) > limit and not line.startswith(("#", "![", "<")) and (not row or limit == TABLE) and " " in line.strip():
            yield f"{path}:{number}: {len(line)} columns; wrap at {limit}"


def words(path, text):
    """Words and constructions that need a second reading."""
    for number, found in prose(enumerate(text.splitlines(), 1)):
        yield f"{path}:{number}: {found!r} (CONTRIBUTING.md, Wording)"


def problems():
    """The problems of all pages that git knows or would add."""
    known = [str(path) for path in listed()]
    for path in listed("*.md"):
        if not path.is_file():
            continue
        text = FENCE.sub(blanked, path.read_text(encoding="utf-8"))
        yield from links(path, text)
        if is_wrapped(path):
            yield from widths(path, text)
            yield from names(path, text, known)
        if path.parts[0] in FOLDERS or path.name in NAMES or len(path.parts) == 1:
            yield from words(path, text)


if __name__ == "__main__":
    if sys.argv[1:] != ["wrap"]:
        sys.exit(__doc__)
    for page in filter(is_wrapped, listed("*.md")):
        page.write_text(wrapped(page.read_text(encoding="utf-8")), encoding="utf-8")
