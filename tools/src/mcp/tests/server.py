"""An MCP server for the tests: `server.py MODE LOG`. Notifications and answers that it gets are appended to LOG."""

import base64
import json
import os
import sys
import time

MODE, LOG = sys.argv[1], sys.argv[2]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"n": {"type": "integer"}}}


def note(text):
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(text + "\n")


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(params):
    name, arguments = params["name"], params["arguments"]
    if name == "echo":
        return {"content": [{"type": "text", "text": json.dumps(arguments)}]}
    if name == "mixed":
        return {
            "content": [
                {"type": "image", "data": PNG, "mimeType": "image/jpeg"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "note://1", "text": "a note"}},
                {"type": "resource_link", "uri": "note://2", "name": "another"},
                {"type": "dance"},
            ],
            "structuredContent": {"exact": 12345678901234567890123},
        }
    if name == "environment":
        return {"content": [], "structuredContent": sorted(os.environ)}
    if name == "fail":
        return {"content": [{"type": "text", "text": "no such thing"}], "isError": True}
    if name == "crash":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "wait":
        return None
    if name == "secret":
        tools[:] = ["added", "secret"]
        send({"method": "notifications/tools/list_changed"})
        return {"content": []}
    raise KeyError(name)


tools = ["mixed", "environment", "fail", "crash", "wait", "secret", "with a dot.and a very long name " + "x" * 60]
note(f"started {os.getpid()}")
if MODE == "refuses":
    sys.exit("no licence")
if MODE == "hangs":
    time.sleep(600)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        note(method)
    elif method is None:
        note("answered " + json.dumps(message))
    elif method == "initialize":
        print("Welcome to the server!", flush=True)
        send({"id": "p", "method": "ping"})
        version = "1999-01-01" if MODE == "old" else message["params"]["protocolVersion"]
        send({"id": message["id"], "result": {"protocolVersion": version, "capabilities": {"tools": {}}}})
    elif method == "tools/list":
        if "cursor" not in message["params"]:
            page = {"tools": [{"name": "echo", "description": " Echoes. ", "inputSchema": SCHEMA}], "nextCursor": "2"}
        else:
            page = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]}
        send({"id": message["id"], "result": page})
    elif method == "tools/call":
        try:
            result = call(message["params"])
        except KeyError as error:
            send({"id": message["id"], "error": {"code": -32602, "message": f"unknown tool {error}"}})
            continue
        if result is not None:
            send({"id": message["id"], "result": result})
