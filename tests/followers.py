#!/usr/bin/env python3
"""Follows one session of `annals serve` with many readers at once: tests/followers.py ANNALS LONG_SESSION

Of 1,000 streams 100 read nothing (FOLLOWERS, SLOW): each begins at the first event and its client never takes a byte. It verifies that

- every other stream gets every event that another process appends, each once and in order, while those 100 are stuck;
- the memory of the server grows by a bounded amount for each stream, whether it waits or is stuck, and by nothing while it goes on;
- a stream that was stuck then gets everything from its first event to the last, each once.

It prints what it measured as JSON. Only counts and memory are judged, never time.
"""

import json
import os
import pathlib
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time

FOLLOWERS = int(os.environ.get("FOLLOWERS", "1000"))
SLOW = int(os.environ.get("SLOW", "100"))
EVENTS = int(os.environ.get("EVENTS", "20000"))
APPENDED = 40
# How long anything may take on a busy machine before it counts as hanging.
PATIENCE = 300
# What one stream may cost the server, in KiB: one that waits, and one whose reader is stuck (it has one page of 64 batches).
WAITING_KIB, STUCK_KIB = 96, 1024


class Stream:
    """A connection that follows the session."""

    def __init__(self, port, token, path, last):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.ids = []
        self.synced = False
        self.rest = b""
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n"
        self.socket.sendall(f"{request}Last-Event-ID: {last}\r\n\r\n".encode())

    def read(self):
        """Takes what is there; whether the stream still runs."""
        data = self.socket.recv(1 << 18)
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            if line.startswith(b"id: "):
                self.ids.append(int(line[4:]))
            elif line.startswith(b": synced"):
                self.synced = True
            elif line.startswith(b"event: problem"):
                sys.exit("a stream ended with a problem")
        return bool(data)


def until(streams, done, what):
    """Reads all streams until each is done."""
    with selectors.DefaultSelector() as selector:
        waiting = [stream for stream in streams if not done(stream)]
        for stream in waiting:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        began = time.monotonic()
        left = len(waiting)
        while left:
            if time.monotonic() - began > PATIENCE:
                sys.exit(f"{what}: {left} streams still wait after {PATIENCE} s")
            for key, _ in selector.select(timeout=1):
                if not key.data.read():
                    sys.exit(f"{what}: a stream ended")
                if done(key.data):
                    selector.unregister(key.fileobj)
                    left -= 1
        return time.monotonic() - began


def memory(process):
    """Resident memory in KiB."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def main(annals, programs):
    # A socket each here, and one each in the server, which inherits the limit.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * FOLLOWERS + 200
    if most != resource.RLIM_INFINITY and most < wanted:
        sys.exit(f"{wanted} open files are needed, at most {most} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store"
        environment = {"HOME": folder, "PATH": os.environ["PATH"]}
        subprocess.run([programs, "long-session", store, str(EVENTS), "--views"], check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen([annals, "serve", "--store", store], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            print(json.dumps(follow(annals, store, environment, server)))
        finally:
            server.kill()
            server.wait()


def events(annals, store, environment):
    """The session, and how many events it has."""
    command = [annals, "sessions", "--all", "--json", "--store", store]
    [row] = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    return row["id"], row["next"]


def follow(annals, store, environment, server):
    port, token = re.search(r":(\d+)/#token=(.*)", server.stdout.readline()).groups()
    port = int(port)
    session, head = events(annals, store, environment)
    path = f"/v1/sessions/{session}/events"
    # What the first stream costs belongs to the session.
    first = Stream(port, token, path, head - 1)
    until([first], lambda stream: stream.synced, "the first stream")
    before = memory(server)
    began = time.monotonic()
    quick = [first] + [Stream(port, token, path, head - 1) for _ in range(FOLLOWERS - SLOW - 1)]
    until(quick, lambda stream: stream.synced, "connecting")
    connected = time.monotonic() - began
    waiting = memory(server)
    slow = [Stream(port, token, path, -1) for _ in range(SLOW)]
    stuck = 0
    # They are stuck once the server reads nothing for them any more: its memory no longer changes.
    for _ in range(60):
        stuck, was = memory(server), stuck
        if stuck == was:
            break
        time.sleep(1)
    deliveries, half = [], 0
    for number in range(APPENDED):
        if number == APPENDED // 2:
            # What the first ones cost, as a log that is opened to be followed, is not repeated.
            half = memory(server)
        subprocess.run([annals, "title", session, f"Title {number}", "--store", store], env=environment, check=True, capture_output=True)
        end = events(annals, store, environment)[1]
        deliveries.append(until(quick, lambda stream: stream.ids[-1:] == [end - 1], f"event {end - 1}"))
    after = memory(server)
    expected = list(range(head, end))
    if any(stream.ids != expected for stream in quick):
        sys.exit(f"a stream got other events than were appended: {next(stream.ids for stream in quick if stream.ids != expected)}, not {expected}")
    # One that was stuck begins to read.
    until(slow[:1], lambda stream: stream.ids[-1:] == expected[-1:], "a stream that was stuck")
    if slow[0].ids != list(range(end)):
        sys.exit(f"a stream that was stuck got other events: {len(slow[0].ids)}, not {end}")
    measured = {
        "followers": len(quick), "stuck": len(slow), "events": head, "appended": end - head, "connected_s": round(connected, 2),
        "kib_a_waiting_stream": round((waiting - before) / len(quick), 1), "kib_a_stuck_stream": round((stuck - waiting) / len(slow), 1),
        "kib_grown_by_first_events": half - stuck, "kib_grown_by_events": after - half, "server_mib": round(after / 1024), "last_delivery_s": {"median": round(sorted(deliveries)[APPENDED // 2], 2), "most": round(max(deliveries), 2)},
    }
    limits = [("kib_a_waiting_stream", WAITING_KIB), ("kib_a_stuck_stream", STUCK_KIB), ("kib_grown_by_events", WAITING_KIB * len(quick) // 4)]
    for name, most in limits:
        if measured[name] > most:
            sys.exit(f"{name} is more than {most}: {json.dumps(measured)}")
    return measured


if __name__ == "__main__":
    main(*sys.argv[1:])
