"""Shared by the scripts of this folder: the project, its targets, and files that are the same on every machine."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCES = [ROOT / "LICENSE-MIT", ROOT / "LICENSE-APACHE"]
SUMMARY = "Keep, search, explain and prove what your coding agents did"
# The time of every file in a package, so that a second build gives the same bytes.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1735689600"))


@dataclasses.dataclass(frozen=True)
class Target:
    """A target of rustc with the names that package managers have for it."""

    triple: str
    # `process.platform` and `process.arch` of Node.js.
    system: str
    machine: str
    # What maturin needs for it.
    options: tuple = ()
    libc: str = None
    # The architecture of the Debian package.
    debian: str = None

    @property
    def npm(self):
        """The name of its npm package."""
        return f"@annals/{self.system}-{self.machine}{'-musl' if self.libc == 'musl' else ''}"

    @property
    def program(self):
        """The file name of the program."""
        return "annals.exe" if self.system == "win32" else "annals"


# Linked by zig, the program starts with glibc 2.17 and later (CentOS 7, Debian 8, Ubuntu 14.04).
GLIBC = ("--zig", "--compatibility", "manylinux2014")
MUSL = ("--zig", "--compatibility", "musllinux_1_2")
TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "linux", "x64", GLIBC, "glibc", "amd64"),
        Target("aarch64-unknown-linux-gnu", "linux", "arm64", GLIBC, "glibc", "arm64"),
        Target("x86_64-unknown-linux-musl", "linux", "x64", MUSL, "musl"),
        Target("aarch64-unknown-linux-musl", "linux", "arm64", MUSL, "musl"),
        Target("aarch64-apple-darwin", "darwin", "arm64"),
        Target("x86_64-apple-darwin", "darwin", "x64"),
        Target("x86_64-pc-windows-msvc", "win32", "x64"),
    )
}


def run(*command, **options):
    """Prints a command and runs it."""
    print("$", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


@functools.cache
def metadata(*options):
    """The output of `cargo metadata`, from the lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)


def command_package():
    """The entry of the crate with the command in `cargo metadata`: the only place of the version."""
    return next(one for one in metadata("--no-deps")["packages"] if one["name"] == "annals-cli")


def version():
    """The version of the workspace."""
    return command_package()["version"]


def settle(folder):
    """Gives all files below a folder the same time, and the rights that packages have."""
    for path in sorted(folder.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if runs else 0o644)
            os.utime(path, (EPOCH, EPOCH))
