"""One agent in a world of its own: home, project, provider, a store of recordings and one of imports."""
import collections, json, os, pathlib, re, select, shutil, signal, subprocess, sys, time

import modes

HERE = pathlib.Path(__file__).resolve().parent


def short(text):
    return text if len(text) < 160 else text[:100] + " … " + text[-50:]


class World:
    """One agent: its home, its project, the provider, a store of recordings and one of imports."""

    def __init__(self, annals, folder, name):
        self.annals, self.name = annals, name
        self.root = folder / "compared" / name
        self.home, self.project, self.bodies = self.root / "home", self.root / "project", self.root / "bodies"
        self.recorded, self.imported = self.root / "recorded", self.root / "imported"
        keep = {key: os.environ[key] for key in ("LANG", "TERM", "TMPDIR") if key in os.environ}
        self.environment = {
            **keep, "PATH": "%s:%s" % (folder / "node_modules/.bin", os.environ["PATH"]), "HOME": str(self.home), "IS_SANDBOX": "1",
            "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef", "OPENAI_API_KEY": "sk-test-0123456789abcdef", "OPENAI_MODEL": "gpt-5",
            "GEMINI_API_KEY": "gm-test-0123456789abcdef", "GOOGLE_GENERATIVE_AI_API_KEY": "gm-test-0123456789abcdef", "USER": "user",
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANNALS_HOST": "machine"}
        self.differences = collections.Counter()

    def differ(self, what, *texts):
        """Prints a difference; of those that only numbers and ids tell apart, the first three."""
        kind = re.sub(r"\b[0-9A-Z]{26}\b|\d+", "N", what) + "".join(re.sub(r"\d+", "N", text[:60]) for text in texts[:1])
        self.differences[kind] += 1
        if self.differences[kind] <= 3:
            print("  %s: %s%s" % (self.name, what, "".join("\n      %r" % short(text) for text in texts)), flush=True)

    def prepare(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for made in (self.home / ".gemini", self.home / ".codex", self.home / ".qwen", self.home / ".pi/agent", self.project / "src"):
            made.mkdir(parents=True)
        (self.home / ".gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}}}')
        (self.project / "README.md").write_text("# Project\n\nA small project.\n")
        (self.project / "src/main.rs").write_text("fn main() {}\n")
        (self.project / "dot.png").write_bytes(modes.DOT)
        git = ["git", "-C", self.project, "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
            subprocess.run([*git, *command], check=True)

    def run_modes(self):
        provider = subprocess.Popen([sys.executable, str(HERE / "provider.py"), "--bodies", str(self.bodies)], stdout=subprocess.PIPE,
                                    env={**os.environ, "PROJECT": str(self.project), "THINKS": "0.05"})
        try:
            url = os.read(provider.stdout.fileno(), 1000).decode().split()[-1]
            for mode, command, options in modes.MODES[self.name]:
                self.run(url, provider, mode, command, **options)
        finally:
            provider.kill()

    def run(self, url, provider, mode, command, stdin=None, interrupt=None, fails=False):
        before = len(list(self.bodies.glob("*.request")))
        while select.select([provider.stdout], [], [], 0)[0]:
            os.read(provider.stdout.fileno(), 10000)
        if "SESSION" in command:
            first = sorted((self.home / ".codex/sessions").rglob("*.jsonl"))[0]
            command = [json.loads(first.open().readline())["payload"]["id"] if one == "SESSION" else one for one in command]
        if self.name == "pi":
            command = [sys.executable, str(HERE / "pi.py"), *command[1:]]
        record = [self.annals, "record", "--json", "--upstream", url, *(["--agent", "any"] if self.name in ("pi", "qwen") else []), "--", *command]
        process = subprocess.Popen(record, cwd=self.project, env={**self.environment, "ANNALS_STORE": str(self.recorded)}, text=True, start_new_session=True,
                                   stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if interrupt:
            seen, end = "", time.monotonic() + 60
            while interrupt not in seen.split() and time.monotonic() < end:
                if select.select([provider.stdout], [], [], 1)[0]:
                    seen += os.read(provider.stdout.fileno(), 10000).decode()
            time.sleep(4)
            os.killpg(process.pid, signal.SIGINT)
        try:
            out, _ = process.communicate(stdin, timeout=150)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            self.differ("%s: did not end within 150 seconds" % mode, out[-1000:])
        (self.root / ("%s.out" % mode.replace(" ", "-"))).write_text(out)
        requests = len(list(self.bodies.glob("*.request"))) - before
        print("  %s: %s: %d requests, status %s" % (self.name, mode, requests, process.returncode), flush=True)
        if process.returncode and not fails and not interrupt:
            self.differ("%s: ended with %s" % (mode, process.returncode), out[-600:])
        if '"missed": 0' not in out:
            self.differ("%s: the recorder missed requests" % mode, out[-600:])

    def ask(self, store, *command, status=(0,)):
        done = subprocess.run([self.annals, *command], cwd=self.project, env={**self.environment, "ANNALS_STORE": str(store)}, capture_output=True, text=True)
        if done.returncode not in status:
            self.differ("annals %s: status %s" % (" ".join(command), done.returncode), done.stdout[-500:] + done.stderr[-500:])
        return done.stdout

    def json(self, store, *command, status=(0,)):
        out = self.ask(store, *command, "--json", status=status)
        try:
            return json.loads(out)
        except ValueError:
            self.differ("annals %s: no JSON" % " ".join(command), out[:300])
            return None

    def sessions(self, store):
        return self.json(store, "sessions", "--all", "--children") or []
