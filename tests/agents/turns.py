#!/usr/bin/env python3
"""What a turn costs in the whole program: `annals run` and OpenCode, given the same model, the same prompt and the same files.

    turns.py ANNALS FOLDER [FEW MANY]

FOLDER has OpenCode from npm, as `tests/agents/run.py` installs it. The model asks to read one file after another, FEW of them and then MANY in another
run; the difference is what MANY - FEW turns cost. Prints CPU (user and system, of the process and of those it waited for) of the whole runs and of a turn, and the
largest resident memory.
"""
import json, os, pathlib, shutil, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
LINES = "".join("line %d of a file that a model reads while it looks for something\n" % at for at in range(20))


def measured(command, cwd, environment):
    begun = time.monotonic()
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    return out, os.waitstatus_to_exitcode(status), (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss / 1024, time.monotonic() - begun


def world(folder, name):
    root = folder / "turns" / name
    shutil.rmtree(root, ignore_errors=True)
    home, project = root / "home", root / "project"
    home.mkdir(parents=True)
    project.mkdir()
    keep = {name: os.environ[name] for name in ("LANG", "TERM", "TMPDIR") if name in os.environ}
    environment = {**keep, "PATH": "%s:%s" % (folder / "node_modules/.bin", os.environ["PATH"]), "HOME": str(home), "ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef",
                   "ANNALS_STORE": str(root / "store")}
    return home, project, environment


def run(name, annals, folder, turns):
    home, project, environment = world(folder, "%s-%d" % (name, turns))
    for at in range(turns):
        (project / ("f%d.txt" % at)).write_text(LINES)
    provider = subprocess.Popen([sys.executable, str(HERE / "provider.py")], stdout=subprocess.PIPE, text=True, env={**os.environ, "THINKS": "0", "PROJECT": str(project)})
    try:
        url = provider.stdout.readline().split()[-1]
        prompt = "Look. " + " ".join("@@ read f%d.txt" % at for at in range(turns)) + " @@ say Seen."
        if name == "annals":
            config = home / ".config/annals/config.toml"
            config.parent.mkdir(parents=True)
            config.write_text('[providers.anthropic]\nbase_url = "%s/v1"\n' % url)
            command = [annals, "run", "--yes", "--model", "anthropic/claude-sonnet-4-5", prompt]
        else:
            environment["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": {"anthropic": {"options": {"baseURL": url + "/v1"}}}, "permission": "allow", "autoupdate": False})
            command = ["opencode", "run", "--model", "anthropic/claude-sonnet-4-5", prompt]
        # What is made once, such as a database, does not count.
        measured([*command[:-1], "Begin. @@ say Begun."], project, environment)
        out, status, cpu, memory, wall = measured(command, project, environment)
    finally:
        provider.kill()
    if status or "Seen." not in out:
        sys.exit("%s ended with %s: %s" % (name, status, out[-2000:]))
    return cpu, memory, wall


def main():
    annals, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    few, many = [int(count) for count in sys.argv[3:5]] or [10, 110]
    for name in os.environ.get("AGENTS", "annals opencode").split():
        (less, _, _), (more, memory, wall) = run(name, annals, folder, few), run(name, annals, folder, many)
        print("%-9s %d turns %.0f ms, %d turns %.0f ms: %.2f ms a turn, %.0f MB, %.1f s" % (name, few, less, many, more, (more - less) / (many - few), memory, wall))


main()
