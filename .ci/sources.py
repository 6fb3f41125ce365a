"""Checks what the compiler does not: what a crate of the workspace must not name (DESIGN section 1)."""

import json
import pathlib
import re
import subprocess
import sys

PURE = ("core", "projections")
# Only this crate may depend on that one, tests and benches apart.
OWNERS = {"sled": "store", "reqwest": "runtime", "clap": "replay-cli"}

problems = []
metadata = subprocess.run(
    ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], check=True, capture_output=True
)
packages = json.loads(metadata.stdout)["packages"]
members = []


def code(path):
    """The lines of a Rust file without comments, with their numbers."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield number, re.sub(r"//.*", "", line)


def is_test(path):
    return path.name == "tests.rs" or "tests" in path.parts or "benches" in path.parts


for package in packages:
    root = pathlib.Path(package["manifest_path"]).parent.relative_to(pathlib.Path.cwd())
    member = str(root)
    members.append(member)
    if not re.search(r"^\[lints\]\nworkspace = true$", (root / "Cargo.toml").read_text(), re.MULTILINE):
        problems.append(f"{root}/Cargo.toml: does not take the lints of the workspace, which forbid unsafe code")
    for dependency in package["dependencies"]:
        owner = OWNERS.get(dependency["name"], member)
        if dependency["kind"] is None and owner != member:
            problems.append(f"{root}/Cargo.toml: {dependency['name']} belongs to {owner} alone")
    for path in sorted(root.rglob("*.rs")):
        if "target" in path.parts or path.is_relative_to("tests/no_std"):
            continue
        for number, line in code(path):
            if re.search(r"\bunsafe\s*(\{|\(|fn\b|impl\b|trait\b|extern\b)|allow\(unsafe", line):
                problems.append(f"{path}:{number}: unsafe code")
            if member in PURE and not is_test(path) and re.search(r"\bstd::|\bextern crate std\b", line):
                problems.append(f"{path}:{number}: {member} knows no std")

for member in PURE:
    if not re.search(r"^#!\[no_std\]$", pathlib.Path(member, "src/lib.rs").read_text(), re.MULTILINE):
        problems.append(f"{member}/src/lib.rs: is not #![no_std]")

print("\n".join(problems) if problems else f"fine in {', '.join(members)}")
sys.exit(1 if problems else 0)
