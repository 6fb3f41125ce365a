"""Runs a command on a terminal of its own and prints what it wrote there: terminal.py COLUMNS COMMAND [ARGUMENT...]

What $ANNALS_TEST_TYPES holds is typed once the command has asked a question (a line that ends in "›").
"""
import fcntl, os, pty, struct, sys, termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
types = os.environ.get("ANNALS_TEST_TYPES", "").encode()
written = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:  # the command has ended
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    written += data
    if types and "› ".encode() in written:
        os.write(terminal, types)
        types = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
