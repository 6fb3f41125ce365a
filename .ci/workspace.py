"""Shared by the checks: the crates of the workspace, and Rust sources without comments, strings and tests."""

import dataclasses
import functools
import json
import pathlib
import re
import subprocess


@dataclasses.dataclass(frozen=True)
class Crate:
    """A member of the workspace. `name` is that of its folder, `package` its entry in `cargo metadata`."""

    name: str
    root: pathlib.Path
    package: dict

    def files(self, *folders):
        """Rust files below its folders, in a fixed order."""
        found = (path for folder in folders for path in (self.root / folder).rglob("*.rs"))
        return sorted(path for path in found if "target" not in path.parts)


@functools.cache
def metadata(*options):
    """The output of `cargo metadata`, from the lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def crates():
    """The members of the workspace. The current directory is its root."""
    here = pathlib.Path.cwd()
    found = metadata("--no-deps")
    members = set(found["workspace_members"])
    roots = ((pathlib.Path(one["manifest_path"]).parent, one) for one in found["packages"] if one["id"] in members)
    return [Crate(str(root.relative_to(here)), root.relative_to(here), package) for root, package in roots]


# In this order: a raw string, a string, a character, a comment of lines, a comment of blocks (not nested).
TOKENS = re.compile(
    r'(?P<raw>\bb?r(?P<marks>#*)".*?"(?P=marks))'
    r'|(?P<string>b?"(?:\\.|[^"\\])*")'
    r"|(?P<char>b?'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])')"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)",
    re.DOTALL,
)


def code(text):
    """A Rust source without comments and the content of strings; the lines keep their numbers."""

    def blank(match):
        lines = "\n" * match.group().count("\n")
        return lines if match.group("comment") else f'""{lines}'

    return TOKENS.sub(blank, text)


def comments(text):
    """The comments of a Rust source, each with the number of its first line."""
    for match in TOKENS.finditer(text):
        if match.group("comment"):
            yield text.count("\n", 0, match.start()) + 1, match.group()


def block(text, at):
    """The position after the item that starts at `at`: after its `;`, or after the brace that closes its body."""
    depth = 0
    for place in range(at, len(text)):
        sign = text[place]
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return place + 1
        elif sign == ";" and depth == 0:
            return place + 1
    return len(text)


def without_tests(text):
    """Code (see `code`) without the items under `#[cfg(test)]`; the lines keep their numbers."""
    pattern = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*")
    while match := pattern.search(text):
        # Further attributes belong to the item; `use` ends at its semicolon, whatever braces it has.
        head = re.compile(r"(?:#\[[^\]]*\]\s*)*").match(text, match.end()).end()
        is_use = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?use\b").match(text, head)
        end = text.find(";", head) + 1 if is_use else block(text, head)
        end = end or len(text)
        text = text[: match.start()] + "\n" * text.count("\n", match.start(), end) + text[end:]
    return text


def is_test(path):
    """Whether a file only contains tests or benches."""
    return path.name == "tests.rs" or "tests" in path.parts or "benches" in path.parts
