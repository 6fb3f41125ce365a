#!/usr/bin/env python3
"""Records real agents from npm that talk to a scripted provider, and checks what a person would look at.

    run.py ANNALS FOLDER [--fixtures DIR] [AGENT...]

Installs the agents into FOLDER with npm. Each agent has three turns with tools in separate processes that resume one session, a
subagent, a turn that is interrupted, and, where it can be provoked, a compaction; then the agent and the recorder are
killed. The last lines say what each agent did, and name those that did not install. With --fixtures, exports of the recordings
are written to DIR; those of Claude Code with a short system prompt, few tools, and texts of ours instead of the product's (`neutral.py`).
Exit status 1 if a check failed.
"""
import json, os, pathlib, select, shutil, signal, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "opencode": "opencode-ai", "gemini": "@google/gemini-cli",
            "qwen": "@qwen-code/qwen-code", "pi": "@mariozechner/pi-coding-agent"}
# What ends the installation where npm runs no scripts.
AFTER = {"claude": "install.cjs", "opencode": "postinstall.mjs"}
RESUMES = {
    "claude": lambda first, prompt: ["claude", *([] if first else ["--continue"]), "-p", prompt, "--dangerously-skip-permissions", *SHORT],
    # Whatever window the newest model has.
    "codex": lambda first, prompt: ["codex", "exec", "-c", "model_auto_compact_token_limit=200000", "--dangerously-bypass-approvals-and-sandbox", *([] if first else ["resume", "--last"]), prompt],
    "opencode": lambda first, prompt: ["opencode", "run", "--model", "anthropic/claude-sonnet-4-5", *([] if first else ["--continue"]), prompt],
    "gemini": lambda first, prompt: ["gemini", "--yolo", *([] if first else ["--resume", "latest"]), "-p", prompt],
}
# What keeps recordings of Claude Code small.
SHORT = []
COMPACTS = {
    "claude": "/compact",
    "codex": "Much. @@ full 400000 say Full.",
    "opencode": "Much. @@ full 1200000 shell ls @@ say Full.",
    "gemini": "Much. @@ full 900000 shell ls @@ say Full.",
}
READ = {"codex": "shell cat README.md"}
WAIT = {"codex": " @@ wait"}


class Failed(Exception):
    pass


class Tried:
    """One agent in a world of its own: home, project, store."""

    def __init__(self, annals, folder, name, provider):
        self.annals, self.name, self.steps = str(annals), name, provider.stdout.fileno()
        self.url = os.read(self.steps, 1000).decode().split()[-1]
        self.root = folder / "tried" / name
        shutil.rmtree(self.root, ignore_errors=True)
        self.home, self.project, self.store = self.root / "home", self.root / "project", self.root / "store"
        for made in (self.home / ".codex", self.home / ".gemini", self.project / "src"):
            made.mkdir(parents=True)
        (self.home / ".gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}}}')
        (self.project / "README.md").write_text("# Project\n\nA small project.\n")
        (self.project / "src/main.rs").write_text("fn main() {}\n")
        git = ["git", "-C", self.project, "-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "Begin"], check=True)
        keep = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR") if name in os.environ}
        self.environment = {
            **keep, "PATH": "%s:%s" % (folder / "node_modules/.bin", os.environ["PATH"]), "HOME": str(self.home),
            "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef", "OPENAI_API_KEY": "sk-test-0123456789abcdef",
            "GEMINI_API_KEY": "gm-test-0123456789abcdef", "ANNALS_STORE": str(self.store), "IS_SANDBOX": "1",
            "USER": "user", "ANNALS_HOST": "machine",
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def start(self, command):
        neutral = ["--agent", "claude", "--", sys.executable, str(HERE / "neutral.py")] if SHORT and self.name == "claude" else ["--"]
        record = [self.annals, "record", "--files", "--json", "--upstream", self.url, *neutral, *command]
        return subprocess.Popen(record, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def start_until(self, verb, prompt):
        """Starts a turn; returns its process once the provider answers with a step."""
        while select.select([self.steps], [], [], 0)[0]:
            os.read(self.steps, 10000)
        process, seen, end = self.start(RESUMES[self.name](False, prompt)), "", time.monotonic() + 90
        while verb not in seen.split():
            self.check(time.monotonic() < end, "no %s within 90 seconds" % verb)
            if select.select([self.steps], [], [], 1)[0]:
                seen += os.read(self.steps, 10000).decode()
        time.sleep(2)
        return process

    def record(self, prompt, first=False):
        process = self.start(RESUMES[self.name](first, prompt))
        out, remarks = process.communicate(timeout=180)
        if process.returncode:
            raise Failed("%r ended with %s: %s%s" % (prompt, process.returncode, out[-500:], remarks[-1500:]))
        report = json.loads(out[out.rindex('{\n  "sessions"'):])
        if report["missed"]:
            raise Failed("%d requests are missing: %s" % (report["missed"], report["why"]))
        return report

    def ask(self, *command, status=0):
        done = subprocess.run([self.annals, *command], cwd=self.project, env=self.environment, capture_output=True, text=True)
        if done.returncode != status:
            raise Failed("annals %s: status %s: %s%s" % (" ".join(command), done.returncode, done.stdout[-800:], done.stderr[-800:]))
        return done.stdout

    def sessions(self):
        return json.loads(self.ask("sessions", "--all", "--json"))

    def check(self, condition, what):
        if not condition:
            raise Failed(what)


def turns(tried):
    """Three turns with tools, a subagent among them; one session, all of it proved."""
    read = READ.get(tried.name, "read README.md")
    tried.record("First. @@ shell ls @@ %s @@ say Two files." % read, first=True)
    agent = "agent Look into the folder of sources. %% shell ls src %% say It has main.rs."
    tried.record("Second. @@ %s%s @@ say It looked." % (agent, WAIT.get(tried.name, "")))
    tried.record("Third. @@ shell echo more >> README.md @@ say Three lines more.")
    sessions = tried.sessions()
    tried.check(len(sessions) == 1, "%d sessions, not one: %s" % (len(sessions), [one["title"] for one in sessions]))
    history = tried.ask("history", "@last")
    for text in ("First.", "A small project.", "It looked.", "Three lines more."):
        tried.check(text in history, "%r is not in the history" % text)
    tried.check("main.rs" in tried.ask("tree", "@last") + tried.ask("replay", "@last"), "no subagent")
    tree = json.loads(tried.ask("tree", "@last", "--json"))
    tried.check(json.dumps(tree).count('"id"') >= 2 or '"parent"' in json.dumps(tree), "no subagent in the tree")
    return "3 turns in 3 processes are one session, with a subagent"


def proved(tried):
    told = tried.ask("verify", "@last", "--requests", "--wire")
    tried.check("proved byte for byte" in told, told)
    why = tried.ask("why", "@last", "A small project.")
    tried.check("README.md" in why or "result" in why, why)
    tried.ask("cache", "@last")
    return " ".join(line for line in told.splitlines() if "byte for byte" in line).strip("✓ ")


def files(tried):
    found = tried.ask("files", "@last")
    tried.check("README.md" in found, "README.md is not among the captured files")
    tried.check("more" in tried.ask("files", "@last", "README.md"), "the change of README.md was not captured")
    tried.check("more" not in tried.ask("files", "@last", "--at", "turn:1", "README.md"), "README.md had the change too early")
    tried.ask("revert", "@last", "--to", "turn:3", "--files-only")
    tried.check("more" not in (tried.project / "README.md").read_text(), "README.md was not restored")
    return "files shown and restored"


def interrupted(tried):
    """The user interrupts a turn; the session goes on."""
    process = tried.start_until("slow", "Fourth. @@ slow 30")
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)
    tried.record("Fifth. @@ say Going on.")
    tried.check(len(roots(tried)) == 1, "an interruption began another session")
    tried.check("Going on." in tried.ask("history", "@last"), "the turn after an interruption is missing")
    return "an interruption"


def roots(tried):
    return [one for one in tried.sessions() if not one.get("fork")]


def compacted(tried):
    if tried.name not in COMPACTS:
        return "no compaction provoked"
    tried.record(COMPACTS[tried.name])
    tried.record("Sixth. @@ shell ls src @@ say After the summary.")
    tried.check(len(roots(tried)) == 1, "a compaction began another session")
    compactions = json.loads(tried.ask("compactions", "@last", "--json"))
    tried.check(len(compactions) == 1, "%d compactions, not one" % len(compactions))
    return "a compaction"


def killed(tried):
    """kill -9 of the agent, then of the recorder: what passed is there, and the next recording goes on."""
    for who in ("agent", "recorder"):
        process = tried.start_until("shell", "Seventh, the %s. @@ shell sleep 30" % who)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        for pid in children if who == "agent" else [str(process.pid)]:
            os.kill(int(pid), signal.SIGKILL)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()
    tried.record("Eighth. @@ say Still here.")
    tried.check(len(roots(tried)) == 1, "a kill began another session")
    tried.check("Still here." in tried.ask("history", "@last"), "the turn after a kill is missing")
    tried.ask("verify", "@last", "--requests", "--wire")
    return "kills of the agent and of the recorder"


def export(tried, fixtures):
    """Writes the main session and its subagents."""
    fixtures.mkdir(parents=True, exist_ok=True)
    tree = json.loads(tried.ask("tree", "@last", "--json"))
    for number, session in enumerate(one for one in tree if not one["fork"]):
        name = tried.name if number == 0 else "%s-subagent" % tried.name
        tried.ask("export", session["id"], str(fixtures / (name + ".jsonl")))


def install(folder, names):
    """Installs the newest versions, and prints them; gives the names of those that do not run."""
    folder.mkdir(parents=True, exist_ok=True)
    # npm passes over versions that ask for a newer Node.js than the one that runs it.
    environment = {**os.environ, "PATH": "%s:%s" % (folder / "node_modules/.bin", os.environ["PATH"])}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    missing = []
    for name in ["node", *names]:
        package = PACKAGES[name] + "@latest" if name in PACKAGES else "node@22"
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package], **quiet)
        if name in AFTER:
            where = folder / "node_modules" / PACKAGES[name]
            subprocess.run(["node", AFTER[name]], cwd=where, **quiet) if where.is_dir() else None
        try:
            program = [str(folder / "node_modules/.bin" / name), "--version"]
            told = subprocess.run(program, check=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
            print("%s: %s" % (name, told.stdout.strip().splitlines()[-1]), flush=True)
        except (OSError, subprocess.SubprocessError, IndexError):
            missing.append(name)
    return missing


def main():
    arguments = sys.argv[1:]
    fixtures = None
    if "--fixtures" in arguments:
        at = arguments.index("--fixtures")
        fixtures = pathlib.Path(arguments[at + 1]).resolve()
        del arguments[at:at + 2]
        SHORT.extend(["--system-prompt", "You work in a test. Do what the prompt says.", "--tools", "Bash,Read,Agent"])
    annals, folder = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    names = arguments[2:] or list(RESUMES)
    missing = install(folder, names)
    lines, failed = [], False
    for name in [name for name in names if name not in missing]:
        project = folder / "tried" / name / "project"
        provider = subprocess.Popen([sys.executable, str(HERE / "provider.py")], env={**os.environ, "PROJECT": str(project)}, stdout=subprocess.PIPE)
        tried, told = Tried(annals, folder, name, provider), []
        try:
            for step in (turns, proved):
                told.append(step(tried))
            if fixtures:
                export(tried, fixtures)
            for step in (files, interrupted, compacted, killed):
                told.append(step(tried))
            lines.append("%s: %s" % (name, "; ".join(told)))
        except (Failed, subprocess.TimeoutExpired, ValueError) as error:
            failed = True
            lines.append("%s: FAILED after %s: %s" % (name, "; ".join(told) or "nothing", error))
        finally:
            provider.kill()
        print(lines[-1], flush=True)
    print("\n" + "\n".join(lines))
    if missing:
        print("not installed: " + ", ".join(missing))
    sys.exit(failed)


if __name__ == "__main__":
    main()
