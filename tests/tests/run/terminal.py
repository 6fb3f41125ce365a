"""Runs a command on a terminal of its own (a pty) for a test, which says on stdin what is sent and what is waited for.

Each line of stdin is a JSON array: ["send", text], ["expect", text, seconds], ["terminate"], ["hang up"], ["end", seconds]. Each is answered
by a line of JSON: true, or what was shown so far where something did not come; the exit status at the end.
"""
import codecs, json, os, pty, select, signal, struct, sys, termios, time
import fcntl

columns = int(os.environ.pop("TEST_COLUMNS", "80"))
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    os.execvpe(sys.argv[1], sys.argv[1:], os.environ)
shown, seen = "", 0
decoder = codecs.getincrementaldecoder("utf-8")("replace")


def read(seconds):
    """Reads what there is; gives whether there may be more."""
    global shown
    if terminal is None:
        time.sleep(0.02)
        return True
    if not select.select([terminal], [], [], max(0, seconds))[0]:
        return True
    try:
        data = os.read(terminal, 65536)
    except OSError:
        return False
    shown += decoder.decode(data)
    return bool(data)


def answer(value):
    print(json.dumps(value), flush=True)


for line in sys.stdin:
    what, *rest = json.loads(line)
    if what == "send":
        os.write(terminal, rest[0].encode())
        answer(True)
    elif what == "expect":
        end = time.monotonic() + rest[1]
        while (at := shown.find(rest[0], seen)) < 0 and time.monotonic() < end and read(min(1, end - time.monotonic())):
            pass
        at = shown.find(rest[0], seen)
        if at >= 0:
            seen = at + len(rest[0])
        answer(True if at >= 0 else shown)
    elif what == "terminate":
        os.kill(pid, signal.SIGTERM)
        answer(True)
    elif what == "hang up":
        os.close(terminal)
        terminal = None
        answer(True)
    elif what == "shown":
        answer(shown)
    elif what == "end":
        end = time.monotonic() + rest[0]
        while terminal is not None and time.monotonic() < end and read(min(1, end - time.monotonic())):
            pass
        ended, status = os.waitpid(pid, os.WNOHANG)
        while ended == 0 and time.monotonic() < end:
            time.sleep(0.02)
            ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            os.kill(pid, signal.SIGKILL)
            answer(shown)
        else:
            answer(os.waitstatus_to_exitcode(status))
