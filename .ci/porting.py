#!/usr/bin/env python3
"""Which files use interfaces that not all systems have: .ci/porting.py [--write]

Compares them with the table in docs/porting.md, or writes the table. Whoever ports Annals to another system begins with these files; one
that is not in the table is a port that got harder without anybody's notice.
"""

import pathlib
import re
import sys

from workspace import code, crates, is_test, without_tests

PAGE = pathlib.Path("docs/porting.md")
TABLE = re.compile(r"(<!-- files -->\n).*(<!-- end -->\n)", re.DOTALL)
# What is not on every system: the name in the table, and how code refers to it.
INTERFACES = {
    "Linux only": r'target_os = "linux"|landlock::|seccompiler::',
    "/proc": r'"/proc\b',
    "files": r"\bos::unix::fs\b|\brustix::(?:\{[^}]*\b)?fs\b|\bos::fd\b|\bos::unix::ffi\b|\brustix::ffi\b",
    "sockets": r"\bos::unix::net\b|\bUnix(?:Listener|Stream|Datagram)\b|\brustix::net\b",
    "processes": r"\bos::unix::process\b|\brustix::(?:\{[^}]*\b)?process\b|\brustix::runtime\b",
    "signals": r"\bsignal::unix\b",
    "terminals": r"\brustix::(?:\{[^}]*\b)?termios\b|\bpty_process\b",
    "other": r"\brustix::(?:system|rand|io|thread|time)\b|\blibc::",
}


def interfaces(text):
    """The names of the interfaces that a Rust source uses outside of its tests."""
    source = without_tests(code(text))
    # Paths below /proc are strings, which `code` leaves out.
    of = {"/proc": text, "Linux only": text}
    return [name for name, pattern in INTERFACES.items() if re.search(pattern, of.get(name, source))]


def table():
    """The table of the page."""
    rows = ["| file | uses |", "| --- | --- |"]
    for crate in crates():
        if crate.name in ("tests", "examples"):
            continue
        for path in crate.files("src"):
            used = [] if is_test(path) else interfaces(path.read_text(encoding="utf-8"))
            if used:
                rows.append(f"| `{path}` | {', '.join(used)} |")
    return "".join(f"{row}\n" for row in rows)


def main(write):
    text = PAGE.read_text(encoding="utf-8")
    wanted = TABLE.sub(lambda match: f"{match[1]}{table()}{match[2]}", text)
    if write:
        PAGE.write_text(wanted, encoding="utf-8")
    elif wanted != text:
        lines = lambda page: set(TABLE.search(page)[0].splitlines())
        for line in sorted(lines(wanted) ^ lines(text)):
            print(f"{PAGE}: {'missing' if line in lines(wanted) else 'out of date'}: {line}")
        print("Use the module of the crate that does this already; if there is none, .ci/porting.py --write adds the file.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--write"]))
