#!/usr/bin/env python3
"""Records a program on the SDKs for Python and one on those for TypeScript, which talk to a scripted provider.

    sdks.py ANNALS FOLDER

Installs the SDKs into FOLDER with pip and npm. Each program has two conversations of two turns with a tool; each is a session whose
requests are proved. The last line names what did not install. Exit status 1 if a check failed.
"""
import json, os, pathlib, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent


def install(folder):
    python, node = folder / "sdk-python", folder / "sdk-node"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    programs, missing = {}, []
    if not (python / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(python)], **quiet)
    pip = subprocess.run([str(python / "bin/python"), "-m", "pip", "install", "--quiet", "anthropic", "openai"], **quiet)
    if pip.returncode == 0:
        programs["Python SDKs"] = [str(python / "bin/python"), str(HERE / "sdk.py")]
    else:
        missing.append("Python SDKs")
    node.mkdir(parents=True, exist_ok=True)
    npm = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(node), "@anthropic-ai/sdk", "openai"], **quiet)
    if npm.returncode == 0:
        # Packages are looked up from where the program is.
        programs["TypeScript SDKs"] = ["node", shutil.copy(HERE / "sdk.mjs", node)]
    else:
        missing.append("TypeScript SDKs")
    return programs, missing


def record(annals, root, command):
    shutil.rmtree(root, ignore_errors=True)
    project = root / "project"
    project.mkdir(parents=True)
    (project / "README.md").write_text("A small project.\n")
    provider = subprocess.Popen([sys.executable, str(HERE / "provider.py")], stdout=subprocess.PIPE, text=True)
    try:
        url = provider.stdout.readline().split()[-1]
        keys = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
        environment = {**os.environ, **keys, "ANNALS_STORE": str(root / "store")}

        def run(*arguments):
            done = subprocess.run([annals, *arguments], cwd=project, env=environment, capture_output=True, text=True, timeout=180)
            if done.returncode:
                raise RuntimeError("annals %s: %d\n%s%s" % (" ".join(arguments), done.returncode, done.stdout, done.stderr))
            return done.stdout

        run("record", "--upstream", url, "--", *command)
        sessions = json.loads(run("sessions", "--all", "--json"))
        assert len(sessions) == 2, "%d sessions, not 2" % len(sessions)
        for session in sessions:
            history = run("history", session["id"])
            for text in ("First.", "Two files.", "Second.", "A small project.", "Read."):
                assert text in history, "%r is not in the history of %s" % (text, session["id"])
            proved = run("verify", session["id"], "--requests", "--wire")
            assert "4 requests proved byte for byte" in proved, proved
    finally:
        provider.kill()


def main():
    annals, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    programs, missing = install(folder)
    failed = False
    for name, command in programs.items():
        try:
            record(annals, folder / "tried" / name.split()[0], command)
            print("%s: 2 sessions, 8 requests proved byte for byte" % name, flush=True)
        except (AssertionError, RuntimeError, subprocess.TimeoutExpired) as error:
            failed = True
            print("%s: FAILED: %s" % (name, error), flush=True)
    if missing:
        print("not installed: " + ", ".join(missing))
    sys.exit(failed)


if __name__ == "__main__":
    main()
