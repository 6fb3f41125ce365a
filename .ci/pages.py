"""Checks the Markdown pages: words (CONTRIBUTING.md, Wording), links to files and headings, and the width of lines."""

import functools
import pathlib
import re
import subprocess

from wording import blanked, prose

# Columns of a line. Headings, images, tables and single long words are not wrapped.
WIDTH = 150
# Columns of a row of a table in docs/commands.md: longer cells belong into prose.
TABLE = 160
# Folders of pages, and pages elsewhere, whose words are checked. Other pages describe the fixtures next to them.
FOLDERS = ("docs", "packaging")
NAMES = ("FORMAT.md", "TEXTS.md")
LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?\)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")


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
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
    for path in sorted({pathlib.Path(name) for name in listed.split("\0") if name}):
        if not path.is_file():
            continue
        text = FENCE.sub(blanked, path.read_text(encoding="utf-8"))
        yield from links(path, text)
        if path.parts[0] == "docs" or len(path.parts) == 1:
            yield from widths(path, text)
        if path.parts[0] in FOLDERS or path.name in NAMES or len(path.parts) == 1:
            yield from words(path, text)
