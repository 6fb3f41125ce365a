"""Runs all test programs again and again in random order while the machine is kept busy: finds tests that depend on each other, or on speed.

load.py ROUNDS FOLDER: the output of a failed program is in FOLDER/round-N-PROGRAM.log. Exit status 1: something failed."""

import json
import os
import pathlib
import random
import subprocess
import sys

# Processes that compete with the tests.
BUSY = 8
# How long a program may run under this load, in seconds.
PATIENCE = 3600


def programs():
    """The test programs and the folders of their packages."""
    built = subprocess.run(
        ["cargo", "test", "--locked", "--workspace", "--no-run", "--message-format=json"],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
    for line in built.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message.get("profile", {}).get("test"):
            yield message["executable"], pathlib.Path(message["manifest_path"]).parent


def run(program, folder, seed, log):
    """Whether all tests of a program pass, in an order that the seed gives."""
    # The order of the standard harness is unstable; programs with another harness do not know the option.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
    shuffled = ["-Z", "unstable-options", "--shuffle-seed", str(seed)]
    lists = subprocess.run([program, *shuffled, "--list"], cwd=folder, env=environment, capture_output=True, check=False)
    arguments = shuffled if lists.returncode == 0 else []
    with open(log, "wb") as output:
        try:
            ended = subprocess.run(
                ["nice", "-n", "10", program, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False,
            )
        except subprocess.TimeoutExpired:
            output.write(f"\nkilled after {PATIENCE} s\n".encode())
            return False
    return ended.returncode == 0


def main(rounds, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tests = list(programs())
    busy = [subprocess.Popen(["nice", "-n", "5", sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    failed = []
    try:
        for number in range(1, int(rounds) + 1):
            for program, package in random.sample(tests, len(tests)):
                seed, name = random.getrandbits(32), pathlib.Path(program).name
                log = folder / f"round-{number}-{name}.log"
                if run(program, package, seed, log):
                    log.unlink()
                else:
                    failed.append(log)
                    print(f"round {number}: {name} failed with seed {seed}: {log}", flush=True)
            print(f"round {number} of {rounds}: {len(tests)} programs, {len(failed)} failures so far", flush=True)
    finally:
        for process in busy:
            process.kill()
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
