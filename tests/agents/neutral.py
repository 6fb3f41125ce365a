#!/usr/bin/env python3
"""Runs Claude Code with texts of ours in its requests, so that a recording of them may stand in this repository.

    annals record --agent claude -- neutral.py claude -p …

Listens between the agent and `ANTHROPIC_BASE_URL`, which is the recorder's address. In each request the descriptions of tools and of their
arguments, system texts and reminders are replaced: equal texts by equal ones, others by others (with the beginning of their hash), everything else (order, blocks, cache marks, calls, results, ids,
headers) stays as the agent sent it. Answers pass unchanged.
"""
import hashlib, http.client, json, os, re, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

OURS = "You work in a test. Do what the prompt says."
UPSTREAM = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
DATE = re.compile(r"Today's date is \d{4}-\d\d-\d\d\.")


def mark(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def described(schema, name):
    """A JSON schema whose descriptions say no more than the names."""
    if isinstance(schema, list):
        return [described(one, name) for one in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "description" and isinstance(value, str):
            out[key] = "The argument %s." % name
        elif key == "properties":
            out[key] = {one: described(inner, one) for one, inner in value.items()}
        else:
            out[key] = described(value, name)
    return out


def system(text):
    if text == OURS or text.startswith("x-anthropic-billing-header:"):
        return text
    first = text.split("\n")[0]
    if len(text) < 200 and first.startswith("You are"):
        return "You are an agent in a test (text %s)." % mark(text)
    return "You are a subagent in a test (text %s). Do what the prompt says, and report what you found." % mark(text)


def reminder(text):
    dates = DATE.findall(text)
    context = "\n# currentDate\n%s" % dates[0] if dates else ""
    return "<system-reminder>\nThis is a reminder for the agent (text %s).%s\n</system-reminder>" % (mark(text), context)


def said(text):
    """A text of a message."""
    return re.sub(r"<system-reminder>.*?</system-reminder>", lambda found: reminder(found.group()), text, flags=re.DOTALL)


def message(one):
    content = one["content"]
    if one["role"] == "system":
        whole = content if isinstance(content, str) else json.dumps(content)
        text = "Available agent types for the Agent tool:\n- general-purpose: An agent for any task (text %s). (Tools: *)" % mark(whole)
        if isinstance(content, str):
            return {**one, "content": text}
        return {**one, "content": [{**block, "text": text} if block.get("type") == "text" else block for block in content]}
    if isinstance(content, str):
        return {**one, "content": said(content)}
    return {**one, "content": [{**block, "text": said(block["text"])} if block.get("type") == "text" and one["role"] == "user" else block for block in content]}


def neutral(body):
    asked = json.loads(body)
    if "messages" not in asked:
        return body
    for tool in asked.get("tools", []):
        if "description" in tool:
            tool["description"] = "The tool %s (text %s)." % (tool["name"], mark(json.dumps([tool["description"], tool.get("input_schema")])))
        if "input_schema" in tool:
            tool["input_schema"] = described(tool["input_schema"], tool["name"])
    if isinstance(asked.get("system"), list):
        for block in asked["system"]:
            block["text"] = system(block["text"])
    elif "system" in asked:
        asked["system"] = system(asked["system"])
    asked["messages"] = [message(one) for one in asked["messages"]]
    return json.dumps(asked, separators=(",", ":"), ensure_ascii=False).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def passed(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = neutral(body) if body else body
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length", "connection", "accept-encoding")}
        if body:
            headers["content-length"] = str(len(body))
        there = http.client.HTTPConnection(UPSTREAM.netloc)
        there.request(self.command, UPSTREAM.path.rstrip("/") + self.path, body or None, headers)
        answer = there.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_POST = do_HEAD = passed


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {**os.environ, "ANTHROPIC_BASE_URL": "http://127.0.0.1:%d" % server.server_port}
    sys.exit(subprocess.run(sys.argv[1:], env=environment).returncode)


if __name__ == "__main__":
    main()
