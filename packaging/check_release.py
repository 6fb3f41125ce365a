#!/usr/bin/env python3
"""Checks that a tag may be released: packaging/check_release.py TAG OWNER/NAME"""

import re
import sys

from project import ROOT, command_package, version


def problems(tag, repository):
    """What is not ready, one sentence each."""
    if tag != f"v{version()}":
        yield f"the tag {tag} is not that of version {version()} (Cargo.toml)"
    address = f"https://github.com/{repository}"
    if command_package()["repository"] != address:
        yield f"repository in Cargo.toml is not {address}; cargo binstall and npm use it"
    if not re.search(rf"^## \[?{re.escape(version())}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no section {version()}"
    if not (ROOT / "packaging/release.pub").is_file():
        yield "packaging/release.pub is missing: the public key that users verify downloads with (docs/releases.md)"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if found := list(problems(*sys.argv[1:])):
        sys.exit("\n".join(found))
