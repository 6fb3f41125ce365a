"""The npm packages: `annals` with a launcher, and one package with the program for each target."""

import json
import shutil

from project import LICENCES, ROOT, SUMMARY, TARGETS, command_package, run, settle, version

FOLDER = ROOT / "packaging/npm"


def common(name):
    """What the packages have in common."""
    repository = command_package()["repository"]
    return {
        "name": name,
        "version": version(),
        "description": SUMMARY,
        "license": "MIT OR Apache-2.0",
        **({"repository": repository} if repository else {}),
    }


def platform_manifest(target):
    """The package.json of a package with the program."""
    return {
        **common(target.npm),
        "os": [target.system],
        "cpu": [target.machine],
        **({"libc": [target.libc]} if target.libc else {}),
        # Yarn would leave it in an archive, where it cannot be executed.
        "preferUnplugged": True,
        "files": ["bin", "LICENSE-*", "THIRD-PARTY.txt"],
    }


def main_manifest(pages):
    """The package.json of the package that users install."""
    return {
        **common("annals"),
        "keywords": ["agent", "audit", "claude-code", "codex", "opencode"],
        "bin": {"annals": "annals.js"},
        "man": [f"./man/{page.name}" for page in pages],
        "engines": {"node": ">=18"},
        "files": ["annals.js", "man", "LICENSE-*", "README.md"],
        "optionalDependencies": {target.npm: version() for target in TARGETS.values()},
    }


def pack(folder, manifest, files, out):
    """Packs a folder with a manifest and files by `npm pack`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    for path, name in [*files, *((path, path.name) for path in LICENCES)]:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(path, folder / name)
    settle(folder)
    run("npm", "pack", "--silent", "--pack-destination", out, folder, cwd=out)


def platform_package(program, notices, target, work, out):
    """Packs the program of a target."""
    files = [(program, f"bin/{target.program}"), (notices, "THIRD-PARTY.txt")]
    pack(work / "npm-platform", platform_manifest(target), files, out)


def main_package(man, work, out):
    """Packs the launcher with the man pages of a folder."""
    pages = sorted(man.iterdir())
    files = [(FOLDER / "annals.js", "annals.js"), (ROOT / "packaging/README.md", "README.md")]
    pack(work / "npm", main_manifest(pages), [*files, *((page, f"man/{page.name}") for page in pages)], out)
