"""Checks what the compiler does not: unsafe code, std in pure crates, arrows between crates, references of comments."""

import pathlib
import re
import sys

from workspace import code, comments, crates, is_test

PURE = ("core", "projections")

# Which crates of the workspace a crate may name. Test dependencies may name what these reach as well.
ARROWS = {
    "core": (),
    "projections": ("core",),
    "store": ("core", "projections"),
    "providers": ("core", "projections"),
    "import": ("core", "store"),
    "inspect": ("core", "projections", "providers", "store"),
    "runtime": ("core", "projections", "providers", "store"),
    "tools": ("core", "runtime"),
    "scenario": ("core", "inspect", "projections", "providers", "runtime", "store"),
}
# These stand above all others.
TOP = ("replay-cli", "tests", "examples")

# Only this crate may depend on that one, tests and benches apart.
OWNERS = {
    "clap": "replay-cli",
    "crossterm": "replay-cli",
    "indicatif": "replay-cli",
    "reqwest": "providers",
    "rusqlite": "import",
    "rustyline": "replay-cli",
    "sled": "store",
}

# Comments refer to pages of docs/, never to documents that are not in the repository. `True` once no comment does.
REFERENCES_CHECKED = True
REFERENCES = re.compile(
    r"\(spec\b|\bspec \d|\bDESIGN(?:\.md)?\b|\bTEXTS\b(?!\.md)|\bruling|\bissues? \d|\bseeds? \d|\bSTYLE\.md|\bWORDING\.md"
)
UNSAFE = re.compile(r"\bunsafe\s*(\{|\(|fn\b|impl\b|trait\b|extern\b)|allow\(unsafe")


def lines(path):
    """The numbered lines of a Rust file without comments and strings."""
    return enumerate(code(path.read_text(encoding="utf-8")).splitlines(), 1)


def reachable(name, known):
    """The crates that one may name, and those that they may name, and so on."""
    direct = known if name in TOP else ARROWS.get(name, ())
    return set(direct).union(*(reachable(one, known) for one in direct if one not in TOP))


def arrows(crate, names):
    """Dependencies that go against the arrows, and packages that belong to another crate."""
    inside = {f"annals-{name}": name for name in names} | {"annals-cli": "replay-cli"}
    if crate.name not in ARROWS and crate.name not in TOP:
        yield f"{crate.name}/Cargo.toml: .ci/sources.py does not say where this crate stands (ARROWS)"
    below = [name for name in names if name not in TOP]
    for dependency in crate.package["dependencies"]:
        name, kind = dependency["name"], dependency["kind"]
        target = inside.get(name)
        direct = below + list(TOP) if crate.name in TOP else ARROWS.get(crate.name, ())
        allowed = reachable(crate.name, below) if kind == "dev" and crate.name not in TOP else direct
        if target and target not in allowed:
            yield f"{crate.name}/Cargo.toml: {crate.name} must not depend on {target}"
        owner = OWNERS.get(name, crate.name)
        if kind is None and owner != crate.name:
            yield f"{crate.name}/Cargo.toml: {name} belongs to {owner} alone"


def sources(crate):
    """Unsafe code, and std where it is not known."""
    pure = crate.name in PURE
    for path in crate.files("."):
        if path.is_relative_to("tests/no_std"):
            continue
        for number, line in lines(path):
            if UNSAFE.search(line):
                yield f"{path}:{number}: unsafe code"
            if pure and not is_test(path) and re.search(r"\bstd::|\bextern crate std\b", line):
                yield f"{path}:{number}: {crate.name} knows no std"
    if pure and not re.search(r"^#!\[no_std\]$", (crate.root / "src/lib.rs").read_text(), re.MULTILINE):
        yield f"{crate.name}/src/lib.rs: is not #![no_std]"
    if not re.search(r"^\[lints\]\nworkspace = true$", (crate.root / "Cargo.toml").read_text(), re.MULTILINE):
        yield f"{crate.name}/Cargo.toml: does not take the lints of the workspace, which forbid unsafe code"


def references(crate):
    """Comments that refer to documents outside of the repository."""
    for path in crate.files("."):
        for number, comment in comments(path.read_text(encoding="utf-8")):
            for match in REFERENCES.finditer(comment):
                yield f"{path}:{number}: refers to a document outside of the repository: {match.group()}"


def main():
    """Prints what is wrong; exit status 1 if anything is."""
    members = crates()
    names = [crate.name for crate in members]
    problems = []
    for crate in members:
        problems += [*arrows(crate, names), *sources(crate)]
    referring = [problem for crate in members for problem in references(crate)]
    if REFERENCES_CHECKED:
        problems += referring
    elif referring:
        print(f"{len(referring)} comments refer to documents outside of the repository (REFERENCES_CHECKED is off)")
    print("\n".join(problems) if problems else f"fine in {', '.join(names)}")
    return 1 if problems else 0


if __name__ == "__main__":
    if not pathlib.Path("Cargo.lock").is_file():
        sys.exit("run this at the root of the repository")
    sys.exit(main())
