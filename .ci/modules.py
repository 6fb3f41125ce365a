"""Checks that the top modules of each crate form no circle, so that each can be read before those that use it."""

import collections
import re
import sys

from workspace import code, crates, is_test, without_tests

# Circles that are known: crate -> the modules that may be in one. A module that leaves its circle has to leave the list.
KNOWN = {}

PATH = re.compile(r"\b(?:crate::|(?:self::)?(?:super::)+)")
WORD = re.compile(r"\s*(?:r#)?(\w+)")


def heads(text, at):
    """The first names of the path or braces at `at`: `a::b` gives a, `{a::b, c as d, super::e}` gives a, c, super::e."""
    if not text.startswith("{", at):
        match = WORD.match(text, at)
        return [match.group(1)] if match else []
    found, depth, start = [], 0, at + 1
    for place in range(at, len(text)):
        sign = text[place]
        depth += (sign == "{") - (sign == "}")
        if (sign == "," and depth == 1) or depth == 0:
            item = text[start:place].strip()
            chain = re.match(r"((?:super::)*)(\w+)", item)
            if chain:
                found.append(chain.group())
            elif item.startswith("{"):
                found += heads(item, 0)
            start = place + 1
        if depth == 0:
            break
    return found


def at_root(text, depth):
    """The names right below the root of the crate that a file uses. `depth`: how many modules it is below the root."""
    found = set()
    for match in PATH.finditer(text):
        ups = match.group().count("super::")
        absolute = match.group() == "crate::"
        for head in heads(text, match.end()):
            chain = ups + head.count("super::")
            if absolute or chain == depth:
                found.add(head.rpartition("::")[2])
    return found


def exported(lib):
    """Names that `lib.rs` re-exports from its modules: name -> module."""
    found = {}
    for match in re.finditer(r"\buse\s+(?:crate::|self::)?(\w+)::([^;]+);", lib):
        module, tree = match.groups()
        for renamed in re.sub(r"\w+\s+as\s+", "", tree).replace("::", " ").split(","):
            words = re.findall(r"\w+", renamed)
            if words:
                found[words[-1]] = module
    return found


def edges(source):
    """module -> module that it uses -> files in which it does, for the sources of a crate."""
    modules = {path.stem for path in source.glob("*.rs")} | {path.name for path in source.iterdir() if path.is_dir()}
    lib = source / "lib.rs"
    exports = exported(without_tests(code(lib.read_text(encoding="utf-8"))))
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(source.rglob("*.rs")):
        relative = path.relative_to(source)
        module = relative.parts[0].removesuffix(".rs")
        if module in ("lib", "main") or is_test(relative):
            continue
        depth = len(relative.parts) - (relative.name == "mod.rs")
        text = without_tests(code(path.read_text(encoding="utf-8")))
        for name in sorted(at_root(text, depth)):
            target = name if name in modules else exports.get(name)
            if target in modules and target not in (module, "lib"):
                found[module][target].append(str(relative))
    return found


def circles(graph):
    """The sets of modules that reach each other, of more than one module each."""
    reach = {}
    for start in list(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo += list(graph.get(one, ()))
        reach[start] = seen
    found = {frozenset([a, *(b for b in reach[a] if a in reach.get(b, ()))]) for a in reach if a in reach[a]}
    return sorted(map(sorted, found))


def main():
    """Prints each circle with its edges; exit status 1 if one is not known, or a known one is gone."""
    problems = 0
    for crate in crates():
        if not (crate.root / "src/lib.rs").is_file():
            continue
        graph = edges(crate.root / "src")
        known, standing = KNOWN.get(crate.name, set()), set()
        for circle in circles(graph):
            standing.update(circle)
            unknown = sorted(set(circle) - known)
            problems += bool(unknown)
            print(f"{crate.name}: a circle of {', '.join(circle)}" + ("" if unknown else " (known)"))
            if unknown:
                print(f"  not known: {', '.join(unknown)}")
            for a in circle:
                for b in sorted(set(graph[a]) & set(circle)):
                    print(f"  {a} -> {b}: {', '.join(graph[a][b])}")
        if gone := sorted(known - standing):
            problems += 1
            print(f"{crate.name}: no longer in a circle, to be removed from KNOWN in .ci/modules.py: {', '.join(gone)}")
    print(f"{problems} problems" if problems else "fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
