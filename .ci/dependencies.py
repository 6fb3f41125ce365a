"""Checks what the workspace depends on: licences, sources, duplicates of direct dependencies, dependencies that nothing uses.

These are the checks of `cargo deny check licenses bans sources` and of `cargo machete` that matter here. Installing those two
compiles some 400 packages, more than all of Annals, on each fresh machine; everything that they check is in `cargo metadata`.
Advisories are deliberately not checked: a change must not fail because of a publication elsewhere.
"""

import collections
import re
import sys

from workspace import code, crates, metadata

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# Licences under which a package may come, alone or as one choice of an expression.
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "CDLA-Permissive-2.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
# Direct dependencies that may have further versions in the tree, each with the reason.
DUPLICATES = {
    "base64": "async-nats takes 0.22",
    "getrandom": "ring, below rustls, takes 0.2",
}
# Dependencies that a crate has without naming them, each with the reason.
NOT_NAMED = {}


def permitted(expression):
    """Whether an SPDX expression can be met with LICENCES. A slash is an old way to write OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternative(at):
        good, at = conjunction(at)
        while at < len(tokens) and tokens[at] == "OR":
            other, at = conjunction(at + 1)
            good = good or other
        return good, at

    def conjunction(at):
        good, at = single(at)
        while at < len(tokens) and tokens[at] == "AND":
            other, at = single(at + 1)
            good = good and other
        return good, at

    def single(at):
        if at < len(tokens) and tokens[at] == "(":
            good, at = alternative(at + 1)
            return good, at + 1
        name, at = " ".join(tokens[at : at + 1]), at + 1
        if at < len(tokens) and tokens[at] == "WITH":
            name, at = f"{name} WITH {' '.join(tokens[at + 1 : at + 2])}", at + 2
        return name in LICENCES, at

    good, end = alternative(0)
    return good and end == len(tokens)


def packages(found):
    """Sources and licences of packages from outside of the workspace."""
    for package in found["packages"]:
        if package["id"] in found["workspace_members"]:
            continue
        label = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            yield f"{label}: comes from {package['source']}, not from crates.io"
        if not permitted(package["license"] or ""):
            yield f"{label}: the licence {package['license']!r} is not in the list (LICENCES)"


def duplicates(found):
    """Direct dependencies in more than one version, except those that only tests and benches use."""
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    names = {package["id"]: package["name"] for package in found["packages"]}
    members = set(found["workspace_members"])

    def used(node):
        return [one["pkg"] for one in nodes[node]["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]

    direct = {names[one] for member in members for one in used(member)} - {names[member] for member in members}
    seen, todo = set(), list(members)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += used(one)
    versions = collections.Counter(names[one] for one in seen)
    for name in sorted(direct):
        if versions[name] > 1 and name not in DUPLICATES:
            yield f"{name}: a direct dependency in {versions[name]} versions (cargo tree -d)"
    for name in sorted(DUPLICATES):
        if versions[name] < 2:
            yield f"{name}: only one version; remove it from DUPLICATES in .ci/dependencies.py"


def words(crate, folders):
    """All words in the code of a crate, its build script included."""
    files = [*crate.files(*folders), *crate.root.glob("build.rs")]
    return {word for path in files for word in re.findall(r"\w+", code(path.read_text(encoding="utf-8")))}


def unused(crate):
    """Dependencies that no source of a crate names."""
    # What is never published holds tests or examples in every folder.
    private = crate.package["publish"] == []
    product = words(crate, ["."] if private else ["src"])
    tests = product | words(crate, ["tests", "benches", "examples"])
    for dependency in crate.package["dependencies"]:
        name = dependency["rename"] or dependency["name"]
        known = product if dependency["kind"] is None else tests
        if name.replace("-", "_") not in known and (crate.name, name) not in NOT_NAMED:
            kind = dependency["kind"] or "normal"
            yield f"{crate.name}/Cargo.toml: nothing names {name} ({kind} dependency)"


def unused_of_workspace(members):
    """Entries of [workspace.dependencies] that no member takes."""
    with open("Cargo.toml", encoding="utf-8") as file:
        section = re.search(r"^\[workspace\.dependencies\]\n(.*?)(?=^\[|\Z)", file.read(), re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^([\w-]+)\s*=", section.group(1), re.MULTILINE) if section else []
    taken = {dependency["name"] for crate in members for dependency in crate.package["dependencies"]}
    for name in listed:
        if name not in taken:
            yield f"Cargo.toml: no member depends on {name} ([workspace.dependencies])"


def main():
    """Prints what is wrong; exit status 1 if anything is."""
    found, members = metadata("--all-features"), crates()
    problems = [*packages(found), *duplicates(found), *unused_of_workspace(members)]
    problems += [problem for crate in members for problem in unused(crate)]
    count = len(found["packages"]) - len(members)
    print("\n".join(problems) if problems else f"fine: {count} packages of others, {len(members)} crates")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
