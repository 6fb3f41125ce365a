"""The archives of earlier releases: what a release wrote must give the same views in this version, or the changelog names the view.

    .ci/releases.py make PROGRAM [VERSION]   writes fixtures/releases/VERSION with what PROGRAM writes (VERSION: its own and the commit)
    .ci/releases.py check PROGRAM            folds every archive with PROGRAM

An archive is two compressed tar files:

    sessions.tar.xz   exports of everything in fixtures/ that can be imported and of every scenario, and their certificate
                      (`annals dev certify`)
    store.tar.xz      a store on disk as it was left: journal, sled, blobs

`docs/releases.md` says when to add one, and how the changelog names a difference.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ARCHIVES = pathlib.Path("fixtures/releases")
CHANGELOG = pathlib.Path("CHANGELOG.md")
# Kinds of differences that say that the archive could not be read as it was: no entry of the changelog excuses them.
UNREADABLE = {"head", "next", "session"}
# `* \`history\` of 0.1.0: ...` in a section `### Views that differ`.
SECTION = re.compile(r"^### Views that differ\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^[-*] ((?:`[a-z]+`(?:, | and )?)+) of (\S+?)[:,]", re.MULTILINE)
# Members of a store that hold its log.
STORE = ("FORMAT", "blobs", "checkpoint", "heads", "journal", "sled")


def run(program, *arguments, **options):
    """Runs the program; gives what it printed. A failure ends the script with its message."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, (program, *arguments)))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def sessions_of(program, store):
    """The ids of all sessions of a store."""
    listed = json.loads(run(program, "--store", store, "sessions", "--all", "--children", "--json"))
    return sorted(session["id"] for session in listed)


def export_all(program, store, folder, prefix=""):
    """Exports every session of a store."""
    folder.mkdir(parents=True, exist_ok=True)
    for session in sessions_of(program, store):
        run(program, "--store", store, "export", session, folder / f"{prefix}{session}.jsonl")


def pack(archive, folder, members):
    """Writes a tar file whose bytes depend on the content alone."""
    def plain(member):
        member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for member in members:
            if (folder / member).exists():
                tar.add(folder / member, member, filter=plain)


def make(program, version=None):
    """Writes the archive of a program."""
    if version is None:
        number = run(program, "--version").split()[1]
        commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
        version = f"{number}-{commit.stdout.strip()}"
    archive = ARCHIVES / version
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        sources = [f"fixtures/{name}" for name in ("claude-code", "codex", "opencode", "recordings")]
        # Files without a session are reported by exit status 1.
        subprocess.run([program, "--store", work / "store", "import", *sources], capture_output=True, check=False)
        export_all(program, work / "store", work / "sessions")
        scenarios = sorted(map(str, pathlib.Path("fixtures/scenarios").glob("*.json")))
        run(program, "--store", work / "scenarios", "dev", "scenario", "run", *scenarios)
        for store in sorted((work / "scenarios").iterdir()):
            export_all(program, store, work / "sessions", f"{store.name}-")
        archive.mkdir(parents=True, exist_ok=True)
        run(program, "dev", "certify", "sessions", "--report", work / "certified.json", cwd=work)
        pack(archive / "sessions.tar.xz", work, ["sessions", "certified.json"])
        pack(archive / "store.tar.xz", work / "store", STORE)
    print(f"{archive}: {sum(path.stat().st_size for path in archive.iterdir()):,} bytes")


def named_differences(text):
    """The views that a changelog says differ, by version: a set of (version, view)."""
    found = set()
    for section in SECTION.findall(text):
        for views, version in ENTRY.findall(section):
            found.update((version, view) for view in re.findall(r"`([a-z]+)`", views))
    return found


def view_of(what):
    """The view of a difference: `requests` for `request 3`."""
    return "requests" if what.startswith("request ") else what


def unnamed(differences, version, named):
    """The differences that the changelog does not name, by view: a dictionary of lists of files."""
    release = version.split("-")[0]
    left = {}
    for difference in differences:
        view = view_of(difference["what"])
        is_named = any((name, view) in named for name in (version, release))
        # What differs after a turn follows from the views that are named.
        follows = view == "turns" and any(name in (version, release) for name, _ in named)
        if view in UNREADABLE or not (is_named or follows):
            left.setdefault(view, []).append(difference["file"])
    return left


def folded(program, folder, report):
    """The differences of the exports in a folder from a certificate."""
    done = subprocess.run(
        [program, "dev", "certify", "sessions", "--against", report, "--json"], capture_output=True, text=True, cwd=folder
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{folder}: certify failed with exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def check_archive(program, archive, named):
    """The problems of an archive, one a line."""
    version = archive.name
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        report = work / "exported" / "certified.json"
        with tarfile.open(archive / "sessions.tar.xz") as tar:
            tar.extractall(work / "exported", filter="data")
        with tarfile.open(archive / "store.tar.xz") as tar:
            tar.extractall(work / "store", filter="data")
        verified = subprocess.run([program, "--store", work / "store", "verify"], capture_output=True, text=True)
        if verified.returncode != 0:
            yield f"{version}: the store is not verified: {verified.stderr.strip() or verified.stdout.strip()}"
        # The same sessions, read from the store instead of from exports.
        stored = work / "stored"
        export_all(program, work / "store", stored / "sessions")
        exported = work / "exported" / "sessions"
        for path in exported.glob("*-*.jsonl"):
            shutil.copy(path, stored / "sessions" / path.name)
        for folder in (work / "exported", stored):
            for view, files in sorted(unnamed(folded(program, folder, report), version, named).items()):
                how = "cannot be read as it was" if view in UNREADABLE else f"`{view}` differs"
                where = "store" if folder == stored else "exports"
                yield f"{version}, {where}: {how} in {len(files)} sessions, such as {files[0]}"


def check(program):
    """Folds every archive; ends with 1 if a difference is not in the changelog."""
    program = str(pathlib.Path(program).resolve())
    archives = sorted(path for path in ARCHIVES.iterdir() if path.is_dir())
    if not archives:
        sys.exit(f"no archive in {ARCHIVES}")
    named = named_differences(CHANGELOG.read_text(encoding="utf-8"))
    problems = [problem for archive in archives for problem in check_archive(program, archive, named)]
    for problem in problems:
        print(problem)
    if problems:
        print(
            "If this is intended, say so in CHANGELOG.md: a line \"- `VIEW` of VERSION: what differs and why\" in a section"
            ' "### Views that differ". docs/releases.md has the steps.'
        )
        sys.exit(1)
    print(f"{len(archives)} archive{'s' if len(archives) > 1 else ''}: the same views, or named in the changelog")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", program, *version] if len(version) < 2:
            make(str(pathlib.Path(program).resolve()), *version)
        case ["check", program]:
            check(program)
        case _:
            sys.exit(__doc__)
