#!/usr/bin/env python3
"""Builds packages of the program for one target: packaging/build.py [--target TRIPLE] [--profile PROFILE] OUT [PACKAGE...]

PACKAGE is `wheel`, `archive`, `npm` or `deb`; all that the target has by default. The program is compiled once, for the wheel;
the others take it from there, also from a wheel of an earlier run in OUT. Needs maturin, for Linux ziglang as well (both from
PyPI), npm for `npm`, dpkg-deb and objdump for `deb`. docs/install.md describes the packages, docs/releases.md a release.
"""

import argparse
import pathlib
import shutil
import subprocess
import zipfile

import third_party
from archive import SHELLS, archive
from deb import debian_package
from npm import main_package, platform_package
from project import ROOT, TARGETS, metadata, run, version


def host():
    """The triple of this machine."""
    lines = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout.splitlines()
    return next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))


def wheel(target, profile, notices, out):
    """Builds the program and its wheel by maturin; removes former wheels of the target."""
    for path in wheels(target, out):
        path.unlink()
    folder = ROOT / "packaging/wheel"
    shutil.copy(notices, folder / "THIRD-PARTY.txt")
    command = ["maturin", "build", "--target", target.triple, "--profile", profile, *target.options, "--out", out]
    run(*command, cwd=folder)


def wheels(target, out):
    """The wheels of a target in a folder."""
    machine = {"x64": ("x86_64", "amd64"), "arm64": ("aarch64", "arm64")}[target.machine]
    system = {"linux": "musllinux" if target.libc == "musl" else "manylinux", "darwin": "macosx", "win32": "win"}[target.system]
    return [path for path in out.glob("annals_cli-*.whl") if f"-{system}" in path.name and path.stem.endswith(machine)]


def unpacked(target, work, out):
    """The program from the wheel."""
    (one,) = wheels(target, out)
    with zipfile.ZipFile(one) as packed:
        name = f"annals_cli-{version()}.data/scripts/{target.program}"
        (work / target.program).write_bytes(packed.read(name))
    (work / target.program).chmod(0o755)
    return work / target.program


def extras(program, work):
    """Man pages and completions, which the program writes itself."""
    folder = work / "extras"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "completions").mkdir(parents=True)
    run(program, "dev", "completions", "--man", folder / "man")
    for shell, name in SHELLS.items():
        written = run(program, "dev", "completions", shell, stdout=subprocess.PIPE).stdout
        (folder / "completions" / name).write_bytes(written)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", choices=TARGETS, default=host())
    parser.add_argument("--profile", default="dist")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    given = parser.parse_args()
    target, out = TARGETS[given.target], given.out.resolve()
    packages = given.packages or ["wheel", "archive", "npm", *(["deb"] if target.debian else [])]
    work = pathlib.Path(metadata("--no-deps")["target_directory"]) / "packages" / target.triple
    out.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    notices = work / "THIRD-PARTY.txt"
    notices.write_text(third_party.text(target.triple), encoding="utf-8")
    if "wheel" in packages:
        wheel(target, given.profile, notices, out)
    program = unpacked(target, work, out)
    pages = extras(program, work)
    if "archive" in packages:
        archive(program, notices, pages, target, work, out)
    if "npm" in packages:
        platform_package(program, notices, target, work, out)
        main_package(pages / "man", work, out)
    if "deb" in packages:
        debian_package(program, notices, pages, target, work, out)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>12,} {path.name}")


if __name__ == "__main__":
    main()
