"""Checks messages of commits (CONTRIBUTING.md, Commits).

`commits.py FILE` checks the message in a file: .githooks/commit-msg. Without FILE it checks the commits after the one that last changed this
file, since a rule holds for what comes after it. On a branch those of origin/main are left out. In a shallow clone the oldest commit counts
as the one that brought this file, so that a checkout of one commit has nothing to check. COMMITS_SINCE names another begin, for a commit
that is published and cannot be changed."""

import os
import pathlib
import re
import subprocess
import sys

LONGEST = 72
# Words that end like a participle or a third person and are imperatives.
IMPERATIVE = re.compile(r"(?:[Bb]ring|[Pp]ing|[Ss]tring|[Rr]ing|\w*[Ff]eed|[Ee]mbed|[Ss]hed|[Ss]eed|[Ss]peed|[Ff]ocus|[Aa]lias|[Bb]ias|\w+ss)$")
ADDED_LATER = re.compile(r"^(?:fixup|squash|amend)! ")
TRAILER = re.compile(r"^[A-Z][\w-]+: ")


def problems(message):
    """What is wrong with a message without comments."""
    subject, *rest = message.strip("\n").split("\n")
    first = subject.split(" ")[0]
    if len(subject) > LONGEST:
        yield f"the subject has {len(subject)} characters; at most {LONGEST}"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if re.search(r"\bwip\b", subject, re.IGNORECASE):
        yield "unfinished work is not a change"
    if not re.match(r"(?!The$|An$|No$)[A-Z][a-z]+$", first) or re.search(r"(?:ed|ing|s)$", first) and not IMPERATIVE.match(first):
        yield f"the subject begins with '{first}', not with a verb in the imperative (Add, Fix, Read)"
    if rest and rest[0].strip():
        yield "the line after the subject is not blank"
    if not any(line.strip() and not TRAILER.match(line) for line in rest):
        yield "there is no body that says why (the failing case, the measurement)"


def uncommented(text):
    """A message as git will store it: without comments and what follows the scissors."""
    text = re.split(r"^# -+ >8 -+$", text, maxsplit=1, flags=re.MULTILINE)[0]
    return "\n".join(line.rstrip() for line in text.split("\n") if not line.startswith("#"))


def git(*arguments):
    """The output of git, or None if it fails."""
    done = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace")
    return done.stdout if done.returncode == 0 else None


def published():
    """The commits to check: hash, parents, message."""
    named = os.environ.get("COMMITS_SINCE")
    since = [named or (git("log", "-1", "--format=%H", "--", __file__) or "").strip()]
    if since == [""]:
        return
    main = git("rev-parse", "--verify", "--quiet", "origin/main")
    if main and not named and git("merge-base", "--is-ancestor", "HEAD", "origin/main") is None:
        since.append(main.strip())
    found = git("log", "--format=%H %P%n%B%x00", "HEAD", *(f"^{commit}" for commit in since))
    if found is None:
        sys.exit(f"no commit {named} (COMMITS_SINCE)")
    for one in found.split("\0"):
        if one.strip():
            head, message = one.strip("\n").split("\n", 1)
            commit, *parents = head.split()
            yield commit, parents, message


def main(arguments):
    """Prints all problems; exit status 1 if there are any."""
    found = []
    if arguments:
        message = uncommented(pathlib.Path(arguments[0]).read_text(encoding="utf-8", errors="replace")).strip("\n")
        # An empty message ends the commit; the others are combined by a rebase.
        if message and not ADDED_LATER.match(message):
            found = [f"commit message: {problem} (CONTRIBUTING.md, Commits)" for problem in problems(message)]
    else:
        checked = list(published())
        for commit, parents, message in checked:
            wrong = ["it is a merge; rebase instead"] if len(parents) > 1 else problems(message)
            found += [f"commit {commit[:12]}: {problem} (CONTRIBUTING.md, Commits)" for problem in wrong]
        if not found:
            print(f"commits checked: {len(checked)}, fine")
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
