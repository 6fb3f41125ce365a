"""Checks what the compiler does not: unsafe code, std in pure crates, arrows between crates, references of comments, names of
types, the language of comments and texts (wording.py), and the pages (pages.py)."""

import collections
import pathlib
import re
import sys

import pages
import wording
from workspace import code, comments, crates, is_test, without_tests

PURE = ("core", "projections")

# Which crates of the workspace a crate may name. Test dependencies may name what these reach as well.
ARROWS = {
    "core": (),
    "projections": ("core",),
    "store": ("core", "projections"),
    "guard": ("core", "store"),
    "providers": ("core", "projections"),
    "import": ("core", "projections", "store"),
    "inspect": ("core", "projections", "providers", "store"),
    "rules": ("core", "inspect", "projections", "store"),
    "index": ("core", "inspect", "projections", "store"),
    "runtime": ("core", "guard", "projections", "providers", "store"),
    "sandbox": (),
    "tools": ("core", "guard", "providers", "runtime", "sandbox"),
    "record": ("core", "guard", "projections", "providers", "runtime", "store"),
    "serve": ("core", "host", "index", "inspect", "projections", "runtime", "store"),
    "config": ("core", "guard", "providers", "runtime", "store", "tools"),
    "host": ("core", "config", "guard", "index", "inspect", "projections", "providers", "runtime", "store", "tools"),
    "acp": ("core", "config", "guard", "host", "inspect", "projections", "providers", "runtime", "tools"),
    "terminal": ("core", "config", "guard", "host", "import", "inspect", "projections", "providers", "runtime", "store", "tools"),
    "testing": ("core", "projections", "scenario", "store"),
    "lab": ("core", "inspect", "projections", "store"),
    "scenario": ("core", "inspect", "projections", "providers", "runtime", "store"),
}
# These may name every crate.
TOP = ("replay-cli", "tests", "examples")

# Only this crate, or these, may depend on that one, tests and benches apart.
OWNERS = {
    "axum": "serve",
    "clap": "replay-cli",
    "crossterm": ("replay-cli", "terminal"),
    "indicatif": "terminal",
    "reqwest": "providers",
    "rusqlite": ("import", "index"),
    "ratatui": "terminal",
    "rustyline": ("replay-cli", "terminal"),
    "sled": "store",
    "toml_edit": "config",
}

# Comments refer to pages of docs/, never to documents that are not in the repository.
REFERENCES = re.compile(
    r"\(spec\b|\bspec \d|\bDESIGN(?:\.md)?\b|\bTEXTS\b(?!\.md)|\bruling|\bissues? \d|\bseeds? \d|\bSTYLE\.md|\bWORDING\.md"
)
# A type name has one meaning in the workspace, tests and examples apart. Names that several types may have, each with the reason.
CONVENTIONS = {
    "Args": "the arguments of each command, as in the documentation of clap",
    "Input": "the input of each tool, whose schema the model reads",
}
TYPE = re.compile(r"^([ \t]*)(?:pub(?:\([^)]*\))?\s+)?(struct|enum|union|trait|type)\s+([A-Z]\w*)", re.MULTILINE)

# What the fence of an example in a comment says.
EXAMPLES = ("", "rust", "no_run", "should_panic", "compile_fail")

UNSAFE = re.compile(r"\bunsafe\s*(\{|\(|fn\b|impl\b|trait\b|extern\b)|allow\(unsafe")


def lines(path):
    """The numbered lines of a Rust file without comments and strings."""
    return enumerate(code(path.read_text(encoding="utf-8")).splitlines(), 1)


def reachable(name, known):
    """The crates that a crate may depend on, directly or indirectly."""
    direct = known if name in TOP else ARROWS.get(name, ())
    return set(direct).union(*(reachable(one, known) for one in direct if one not in TOP))


def arrows(crate, names):
    """Dependencies against the arrows, and packages that only another crate may use."""
    inside = {f"annals-{name}": name for name in names} | {"annals-cli": "replay-cli"}
    if crate.name not in ARROWS and crate.name not in TOP:
        yield f"{crate.name}/Cargo.toml: .ci/sources.py has no entry for this crate (ARROWS)"
    below = [name for name in names if name not in TOP]
    for dependency in crate.package["dependencies"]:
        name, kind = dependency["name"], dependency["kind"]
        target = inside.get(name)
        direct = below + list(TOP) if crate.name in TOP else ARROWS.get(crate.name, ())
        allowed = reachable(crate.name, below) if kind == "dev" and crate.name not in TOP else direct
        if kind == "dev" and crate.name not in reachable("testing", below):
            allowed = set(allowed) | {"testing"}
        if target and target not in allowed:
            yield f"{crate.name}/Cargo.toml: {crate.name} must not depend on {target}"
        owners = OWNERS.get(name, crate.name)
        owners = owners if isinstance(owners, tuple) else (owners,)
        if kind is None and crate.name not in owners:
            yield f"{crate.name}/Cargo.toml: only {' and '.join(owners)} may depend on {name}"


def sources(crate):
    """Unsafe code, std in pure crates, and manifests without the settings of the workspace."""
    pure = crate.name in PURE
    for path in crate.files("."):
        if path.is_relative_to("tests/no_std"):
            continue
        for number, line in lines(path):
            if UNSAFE.search(line):
                yield f"{path}:{number}: unsafe code"
            if pure and not is_test(path) and re.search(r"\bstd::|\bextern crate std\b", line):
                yield f"{path}:{number}: std in {crate.name}, which is no_std"
    if pure and not re.search(r"^#!\[no_std\]$", (crate.root / "src/lib.rs").read_text(), re.MULTILINE):
        yield f"{crate.name}/src/lib.rs: #![no_std] is missing"
    if crate.package["rust_version"] is None:
        yield f"{crate.name}/Cargo.toml: does not take rust-version, which clippy (incompatible_msrv) checks"
    if not re.search(r"^\[lints\]\nworkspace = true$", (crate.root / "Cargo.toml").read_text(), re.MULTILINE):
        yield f"{crate.name}/Cargo.toml: does not take the lints of the workspace, which forbid unsafe code"


def references(crate):
    """Comments that refer to documents outside of the repository."""
    for path in crate.files("."):
        for number, comment in comments(path.read_text(encoding="utf-8")):
            for match in REFERENCES.finditer(comment):
                yield f"{path}:{number}: refers to a document outside of the repository: {match.group()}"


def unrun_examples(crate):
    """Examples in the comments of a crate that says that it has none: `cargo test` does not run them."""
    if "doctest = false" not in (crate.root / "Cargo.toml").read_text(encoding="utf-8"):
        return
    for path in crate.files("src"):
        inside = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fence = re.match(r"\s*//[/!] ?```(.*)", line)
            if fence and not inside and fence[1].split(",")[0].strip() in EXAMPLES:
                yield f"{path}:{number}: an example that no test runs; remove `doctest = false` from {crate.name}/Cargo.toml"
            inside ^= bool(fence)


def types(text):
    """The names of the types that a Rust file declares outside of its tests. Associated types are left out."""
    for match in TYPE.finditer(without_tests(code(text))):
        if not (match[2] == "type" and match[1]):
            yield match[3]


def homonyms(members):
    """Names of types that occur in several files, or twice in one."""
    found = collections.defaultdict(list)
    for crate in members:
        if crate.name in ("tests", "examples"):
            continue
        for path in crate.files("src"):
            if not is_test(path):
                for name in types(path.read_text(encoding="utf-8")):
                    found[name].append(str(path))
    for name, paths in sorted(found.items()):
        if len(paths) > 1 and name not in CONVENTIONS:
            yield f"{name}: {len(paths)} types of this name: {', '.join(paths)}"


def main():
    """Prints all problems; exit status 1 if there are any."""
    members = crates()
    names = [crate.name for crate in members]
    problems = [*homonyms(members), *pages.problems()]
    for crate in members:
        problems += [*arrows(crate, names), *sources(crate), *references(crate)]
        problems += [*unrun_examples(crate), *wording.problems(crate)]
    print("\n".join(problems) if problems else f"fine in {', '.join(names)}")
    return 1 if problems else 0


if __name__ == "__main__":
    if not pathlib.Path("Cargo.lock").is_file():
        sys.exit("run this at the root of the repository")
    sys.exit(main())
