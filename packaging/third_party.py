"""The licences of everything that the program is built from: `third_party.text(triple)`."""

import collections
import pathlib

from project import ROOT, metadata

NAMES = ("license", "licence", "copying", "copyright", "notice", "unlicense")
HEAD = """The program annals is built from these packages. Each is followed by its licence; the texts follow.
SQLite, which libsqlite3-sys contains, is in the public domain.
"""


def linked(triple):
    """The packages from a registry that are linked into the program, in the order of their names."""
    found = metadata("--filter-platform", triple)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    left = [package["id"] for package in found["packages"] if package["name"] == "annals-cli"]
    seen = set()
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            needs = (need for need in nodes[one]["deps"] if any(kind["kind"] is None for kind in need["dep_kinds"]))
            left += [need["pkg"] for need in needs]
    outside = (packages[one] for one in seen if packages[one]["source"])
    return sorted(outside, key=lambda package: (package["name"], package["version"]))


def licence_files(package):
    """The licence files of a package, in a fixed order."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NAMES)]
    return sorted(files) + sorted(folder.glob("LICENSES/*"))


def text(triple):
    """The packages with their licences, then each licence text once, with the packages that it comes with."""
    rows, texts = [], collections.defaultdict(list)
    for package in linked(triple):
        name = f"{package['name']} {package['version']}"
        files = licence_files(package)
        authors = f", by {', '.join(package['authors'])}" if not files and package["authors"] else ""
        rows.append(f"{name}: {package['license']}{authors}")
        for path in files:
            texts[path.read_text(encoding="utf-8", errors="replace").strip()].append(name)
    # What is no Rust package: parts of the page of `annals serve`.
    for path in sorted((ROOT / "packaging/licences").glob("*.txt")):
        rows.append(f"{path.stem} (npm): MIT")
        texts[path.read_text(encoding="utf-8").strip()].append(f"{path.stem} (npm)")
    parts = [f"{'=' * 80}\n{', '.join(dict.fromkeys(names))}\n{'=' * 80}\n\n{one}\n" for one, names in texts.items()]
    return "\n".join([HEAD, *rows, "", *parts])
