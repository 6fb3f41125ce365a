"""The archive with program, man pages, completions and licences: for people, and for `cargo binstall`."""

import gzip
import shutil
import tarfile
import zipfile

from project import EPOCH, LICENCES, ROOT, settle, version

# The file of each shell's completions, and its name where that shell looks for it.
SHELLS = {"bash": "annals", "zsh": "_annals", "fish": "annals.fish"}


def entry(info):
    """The entry of a file without what differs between machines."""
    info.mtime, info.uid, info.gid, info.uname, info.gname = EPOCH, 0, 0, "", ""
    return info


def archive(program, notices, extras, target, work, out):
    """Packs a program with its man pages and completions, which are in the folder `extras`."""
    name = f"annals-{version()}-{target.triple}"
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(extras, folder)
    shutil.copy(program, folder / target.program)
    for path in [*LICENCES, notices, ROOT / "packaging/README.md", ROOT / "CHANGELOG.md"]:
        shutil.copy(path, folder / path.name)
    settle(folder)
    if target.system == "win32":
        with zipfile.ZipFile(out / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(folder.rglob("*")):
                packed.write(path, path.relative_to(work))
        return
    with open(out / f"{name}.tar.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, EPOCH) as stream:
        with tarfile.open(fileobj=stream, mode="w") as packed:
            for path in sorted(folder.rglob("*")):
                packed.add(path, path.relative_to(work), recursive=False, filter=entry)
