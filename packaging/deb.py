"""The Debian package, built by dpkg-deb."""

import email.utils
import gzip
import os
import re
import shutil
import subprocess

from archive import SHELLS
from project import EPOCH, LICENCES, ROOT, SUMMARY, run, settle, version

DESCRIPTION = """\
 Annals reads the sessions of Claude Code, Codex and OpenCode, keeps them when
 the agent deletes them, and answers: What happened? What did it cost? Where is
 that session of last week? Why did the model know that? What did the
 compaction drop?
 .
 Sessions that it records or runs are kept in a log in which each entry contains
 the hash of the one before: every request that a model received can be rebuilt
 byte for byte, explained, and proved unaltered."""
OVERRIDES = """\
# SQLite is compiled in: the index relies on the features of exactly this version.
annals: embedded-library *
"""


def maintainer():
    """Whoever builds the package: DEBEMAIL as dpkg's own tools read it, else the author of the last commit."""
    if "DEBEMAIL" in os.environ:
        return f"{os.environ.get('DEBFULLNAME', 'Annals maintainers')} <{os.environ['DEBEMAIL']}>"
    command = ["git", "log", "-1", "--format=%an <%ae>"]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def symbol_versions(program):
    """The versions of glibc whose symbols a program needs, as tuples of numbers."""
    listed = subprocess.run(["objdump", "-T", program], check=True, capture_output=True, text=True).stdout
    return sorted({tuple(map(int, found.split("."))) for found in re.findall(r"\(GLIBC_([\d.]+)\)", listed)})


def copyright_file():
    """The file `copyright` in Debian's form."""
    mit = LICENCES[0].read_text(encoding="utf-8").strip().splitlines()
    holder = next(line.removeprefix("Copyright (c) ") for line in mit if line.startswith("Copyright"))
    text = "\n".join(f" {line}" if line.strip() else " ." for line in mit)
    return f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Annals
Comment: THIRD-PARTY.txt.gz, in the same folder, contains the licences of the
 packages that are linked into the program.

Files: *
Copyright: {holder}
License: MIT or Apache-2.0

License: MIT
{text}

License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
"""


def compressed(text):
    """Text in the form that Debian asks of documents and man pages."""
    return gzip.compress(text if isinstance(text, bytes) else text.encode(), 9, mtime=0)


def debian_package(program, notices, extras, target, work, out):
    """Builds annals_VERSION_ARCHITECTURE.deb."""
    root = work / "deb"
    shutil.rmtree(root, ignore_errors=True)
    # A pre-release sorts before the release.
    number = version().replace("-", "~")
    dated = email.utils.formatdate(EPOCH)
    documents = {
        "changelog.gz": f"annals ({number}) unstable; urgency=medium\n\n  * Release {version()}.\n\n -- {maintainer()}  {dated}\n",
        "THIRD-PARTY.txt.gz": notices.read_bytes(),
        "CHANGELOG.md.gz": (ROOT / "CHANGELOG.md").read_bytes(),
    }
    share = root / "usr/share"
    for folder in (root / "usr/bin", share / "doc/annals", share / "man/man1", share / "lintian/overrides", root / "DEBIAN"):
        folder.mkdir(parents=True)
    shutil.copy(program, root / "usr/bin/annals")
    for name, content in documents.items():
        (share / "doc/annals" / name).write_bytes(compressed(content))
    (share / "doc/annals/copyright").write_text(copyright_file())
    (share / "lintian/overrides/annals").write_text(OVERRIDES)
    for page in (extras / "man").iterdir():
        (share / f"man/man1/{page.name}.gz").write_bytes(compressed(page.read_bytes()))
    folders = {"bash": "bash-completion/completions", "zsh": "zsh/vendor-completions", "fish": "fish/vendor_completions.d"}
    for shell, name in SHELLS.items():
        (share / folders[shell]).mkdir(parents=True)
        shutil.copy(extras / "completions" / name, share / folders[shell] / name)
    glibc = ".".join(map(str, symbol_versions(program)[-1]))
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024
    (root / "DEBIAN/control").write_text(f"""\
Package: annals
Version: {number}
Architecture: {target.debian}
Maintainer: {maintainer()}
Installed-Size: {size}
Depends: libc6 (>= {glibc})
Recommends: git
Suggests: bubblewrap
Section: utils
Priority: optional
Description: {SUMMARY[0].lower()}{SUMMARY[1:]}
{DESCRIPTION}
""")
    settle(root)
    run("dpkg-deb", "--root-owner-group", "--build", "-Zxz", root, out)
