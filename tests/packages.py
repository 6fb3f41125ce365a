#!/usr/bin/env python3
"""Installs the packages that packaging/build.py wrote, uses each, and removes it: tests/packages.py FOLDER NODE...

Each package goes to an empty place, and is used without Rust in PATH and with an empty HOME. Nothing may be left of it afterwards,
and the program may need glibc 2.17 at most. The npm packages come from a registry of this program, as a user's npm would ask for
them; their launcher is tried with each NODE, and without `process.execve`.
"""

import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
import npm  # noqa: E402
from deb import symbol_versions  # noqa: E402
from project import TARGETS, command_package, version  # noqa: E402

GLIBC = (2, 17)
# Libraries that belong to glibc.
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1", "ld-linux-x86-64.so.2"}
TARGET = TARGETS["x86_64-unknown-linux-gnu"]
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
DEADLINE = 30


def fail(message):
    sys.exit(f"packages: {message}")


def run(*command, env=None, status=0, **options):
    """Runs a command; its output. Another exit status ends everything."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=600, **options)
    if done.returncode != status:
        fail(f"{' '.join(words)}: exit status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done.stdout


def until(what, condition):
    """Waits for a condition; its value."""
    end = time.monotonic() + DEADLINE
    while not (value := condition()):
        if time.monotonic() > end:
            fail(f"{DEADLINE} s have passed: {what}")
        time.sleep(0.05)
    return value


def files(folder):
    """The files below a folder, byte code of Python apart."""
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


@contextlib.contextmanager
def removed(folder, install, remove):
    """Installs, and checks that nothing is left once it was removed."""
    before = files(folder)
    started = time.monotonic()
    install()
    print(f"   installed in {time.monotonic() - started:.1f} s", flush=True)
    if files(folder) == before:
        fail(f"nothing was installed in {folder}")
    yield
    remove()
    if left := files(folder) - before:
        fail(f"left after removal: {sorted(map(str, left))}")


def environment(home, *folders):
    """An empty HOME, and a PATH without Rust."""
    path = ":".join([*map(str, folders), SYSTEM])
    for program in ("cargo", "rustc"):
        if shutil.which(program, path=path):
            fail(f"{program} is in the PATH {path}")
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}


def first_day(env, man=None):
    """What a user does first, with the `annals` that PATH leads to. Exit statuses are part of it."""
    home = pathlib.Path(env["HOME"])
    annals = lambda *words, status=0: run("annals", *words, env=env, status=status, cwd=home)
    if annals("--version") != f"annals {version()}\n":
        fail("annals --version prints another version")
    fixtures = ROOT / "fixtures"
    sources = ("claude-code/tools-and-compaction.jsonl", "codex/tools-and-resume.rollout.jsonl", "opencode/v2/compaction.events.jsonl")
    annals("import", *(fixtures / source for source in sources))
    sessions = json.loads(annals("sessions", "--all", "--json"))
    if len(sessions) != len(sources):
        fail(f"annals sessions lists {len(sessions)} sessions, not {len(sources)}")
    for words in (("search", "--all", "spare shelf"), ("replay", "--all", "@last"), ("usage", "--all"), ("verify",)):
        if not annals(*words):
            fail(f"annals {' '.join(words)} prints nothing")
    for shell in ("bash", "zsh", "fish"):
        if "annals" not in annals("dev", "completions", shell):
            fail(f"no completions for {shell}")
    annals("dev", "completions", "--man", home / "man")
    pages = {path.name for path in (home / "man").iterdir()}
    if man is not None and (found := {path.name.removesuffix(".gz") for path in man.iterdir()}) != pages:
        fail(f"{man} lacks man pages, or has others: {sorted(found ^ pages)}")
    exported = annals("export", json.loads(annals("sessions", "--all", "--json"))[0]["id"])
    (home / "altered.jsonl").write_text(exported.replace("spare", "other").replace("pieces", "places").replace("hello", "hallo"))
    annals("verify", home / "altered.jsonl", status=1)
    annals("no-such-command", status=2)


def needs(program):
    """Checks which libraries a program needs, and of which age; the newest version of glibc."""
    headers = run("objdump", "-p", program)
    others = {line.split()[1] for line in headers.splitlines() if line.strip().startswith("NEEDED")} - LIBRARIES
    if others:
        fail(f"{program} needs {sorted(others)}")
    newest = symbol_versions(program)[-1]
    if newest > GLIBC:
        fail(f"{program} needs glibc {'.'.join(map(str, newest))}; the newest that may be needed is 2.17")
    return ".".join(map(str, newest))


def wheel(folder, work):
    """pip, in a virtual environment."""
    run(sys.executable, "-m", "venv", work / "venv")
    pip = work / "venv/bin/pip"
    env = environment(work / "home", work / "venv/bin")
    install = lambda: run(pip, "install", "--no-index", "--find-links", folder, "annals-cli", env=env)
    with removed(work / "venv", install, lambda: run(pip, "uninstall", "--yes", "annals-cli", env=env)):
        print(f"   glibc {needs(work / 'venv/bin/annals')}")
        licences = {path.name for path in (work / "venv").rglob("annals_cli-*/licenses/*")}
        if not {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"} <= licences:
            fail(f"the wheel has only the licence files {sorted(licences)}")
        first_day(env)


def debian(folder, work):
    """dpkg, in a root of its own, then lintian."""
    (deb,) = folder.glob("annals_*.deb")
    root = work / "root"
    for path in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
        (root / path).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    # The files that dpkg keeps for itself.
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--log=/dev/null"]
    run(*dpkg, "--audit")
    for name in ("status-old", "lock", "lock-frontend", "diversions", "diversions-old", "triggers/Lock", "triggers/Unincorp", "info/format"):
        (root / "var/lib/dpkg" / name).parent.mkdir(exist_ok=True)
        (root / "var/lib/dpkg" / name).touch()
    (root / "var/lib/dpkg/info/format").write_text("1\n")
    with removed(root, lambda: run(*dpkg, "--install", deb), lambda: run(*dpkg, "--purge", "annals")):
        needs(root / "usr/bin/annals")
        first_day(environment(work / "home", root / "usr/bin"), root / "usr/share/man/man1")
    if found := run("lintian", "--fail-on", "error,warning", "--allow-root", "--info", deb):
        fail(f"lintian:\n{found}")


class Registry(http.server.BaseHTTPRequestHandler):
    """A registry of npm with the packages of a folder. Of the platforms that were not built it has the description alone."""

    def do_GET(self):
        name = self.path.lstrip("/").replace("%2f", "/").replace("%2F", "/")
        if name.endswith(".tgz"):
            return self.answer(200, (self.server.folder / name).read_bytes())
        found = self.server.packages.get(name)
        return self.answer(200 if found else 404, json.dumps(found or {}).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def described(manifest, folder, address):
    """A package as a registry describes it."""
    file = f"{manifest['name'].removeprefix('@').replace('/', '-')}-{manifest['version']}.tgz"
    dist = {"tarball": f"{address}/{file}"}
    if (folder / file).exists():
        digest = hashlib.sha512((folder / file).read_bytes()).digest()
        dist["integrity"] = f"sha512-{base64.b64encode(digest).decode()}"
    found = {**manifest, "dist": dist}
    return {"name": manifest["name"], "dist-tags": {"latest": manifest["version"]}, "versions": {manifest["version"]: found}}


@contextlib.contextmanager
def registry(folder):
    """Serves the npm packages of a folder; the address."""
    with tarfile.open(next(folder.glob("annals-[0-9]*.tgz"))) as packed:
        main = json.load(packed.extractfile("package/package.json"))
    manifests = [main, *(npm.platform_manifest(target) for target in TARGETS.values())]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        server.folder = folder
        server.packages = {one["name"]: described(one, folder, address) for one in manifests}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield address
        server.shutdown()


def running(program):
    """The processes that run a program."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").resolve() == program:
                found.append(int(process.name))
    return found


def catches(process, number):
    """Whether a process has a handler for a signal."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(caught, 16) >> (number - 1) & 1


def launcher(env, program):
    """What happens to the launcher happens to the program, and the reverse."""
    home = pathlib.Path(env["HOME"])

    def started(command="annals"):
        words = [command, "serve"]
        process = subprocess.Popen(words, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if not process.stdout.readline():
            fail("annals serve prints no link")
        (one,) = running(program)
        until("annals serve does not handle SIGTERM", lambda: catches(one, signal.SIGTERM))
        return process

    def ended(process):
        process.communicate(timeout=DEADLINE)
        until("the program runs although its launcher has ended", lambda: not running(program))
        return process.returncode

    process = started(program)
    process.terminate()
    expected = ended(process)
    process = started()
    process.terminate()
    if (status := ended(process)) != expected:
        fail(f"SIGTERM ends the launcher with {status}, and the program with {expected}")
    process = started()
    process.kill()
    if (status := ended(process)) != -signal.SIGKILL:
        fail(f"SIGKILL ends the launcher with {status}")
    process = started()
    os.kill(running(program)[0], signal.SIGKILL)
    if (status := ended(process)) != -signal.SIGKILL:
        fail(f"the program was killed, and the launcher ends with {status}")


def npm_packages(folder, work, node):
    """npm without scripts, in a prefix of its own, then the launcher."""
    prefix = work / "prefix"
    prefix.mkdir()
    manager = shutil.which("npm")
    env = environment(work / "home", prefix / "bin", pathlib.Path(node).parent)
    with registry(folder) as address:
        options = ["--global", "--prefix", prefix, "--registry", address, "--cache", work / "cache", "--no-audit", "--no-fund"]
        install = lambda: run(manager, "install", *options, "--ignore-scripts", "annals", env=env, cwd=work)
        remove = lambda: run(manager, "uninstall", *options, "annals", env=env, cwd=work)
        # npm makes these folders, and leaves them.
        for path in ("bin", "lib/node_modules", "share/man/man1"):
            (prefix / path).mkdir(parents=True)
        with removed(prefix, install, remove):
            packages = sorted(path.name for path in prefix.rglob("@annals/*"))
            if packages != ["linux-x64"]:
                fail(f"npm installed {packages}")
            (program,) = prefix.rglob("@annals/linux-x64/bin/annals")
            first_day(env, prefix / "share/man/man1")
            can_exec = run(node, "-p", "typeof process.execve", env=env) == "function\n"
            print(f"   launcher with {run(node, '--version', env=env).strip()}, {'exec' if can_exec else 'a child'}")
            launcher(env, program)
            if can_exec:
                (work / "without.js").write_text("process.execve = undefined;\n")
                print("   launcher with a child")
                launcher({**env, "NODE_OPTIONS": f"--require {work}/without.js"}, program)


def binstall(folder, work):
    """The archive, as `cargo binstall` would find it by the metadata of the crate."""
    metadata = command_package()["metadata"]["binstall"]
    names = {"repo": "REPO", "version": version(), "target": TARGET.triple, "name": "annals-cli", "bin": "annals", "binary-ext": ""}
    names["archive-suffix"] = {"tgz": ".tar.gz"}[metadata["pkg-fmt"]]

    def filled(template):
        for name, value in names.items():
            template = template.replace("{ %s }" % name, value)
        return template

    archive = folder / filled(metadata["pkg-url"]).rsplit("/", 1)[1]
    with tarfile.open(archive) as packed:
        packed.extractall(work / "archive", filter="data")
    program = work / "archive" / filled(metadata["bin-dir"])
    extracted = program.parent
    if not {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"} <= {path.name for path in extracted.iterdir()}:
        fail(f"{archive} has no licence files")
    first_day(environment(work / "home", extracted), extracted / "man")


def main(folder, *nodes):
    folder = pathlib.Path(folder).resolve()
    cases = [("wheel", wheel), ("archive", binstall), ("deb", debian)]
    cases += [(f"npm, {node}", lambda folder, work, node=node: npm_packages(folder, work, node)) for node in nodes]
    for name, case in cases:
        print(f"-- {name}", flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            work = pathlib.Path(temporary).resolve()
            (work / "home").mkdir()
            case(folder, work)
    print("every package was installed, used and removed")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
