"""An agent in the form of Codex 0.104, which names its session in every request but the one that asks the provider to compact it. The
arguments are the file of its session, and the number of the turn; with `compact` the history is compacted before it, in a process that has said
nothing before. SESSION is the name of the session."""

import json
import os
import sys
import urllib.request

TOOLS = [{"type": "function", "name": "exec_command", "description": "Runs a command.", "parameters": {"type": "object"}}]


def post(path, body, headers):
    """Asks the provider."""
    url = f"{os.environ['OPENAI_BASE_URL']}/{path}"
    headers = headers | {"content-type": "application/json", "authorization": "Bearer planted-credential-1", "user-agent": "codex_exec/0.104.0"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def message(role, kind, text):
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


file, turn = sys.argv[1:3]
state = {"history": []} if turn == "1" else json.load(open(file))
if "compact" in sys.argv:
    asked = {"model": "gpt-5.2-codex", "instructions": "You are an agent.", "input": state["history"]}
    state["history"] = post("responses/compact", asked, {})["output"]
state["history"].append(message("user", "input_text", f"Prompt number {turn} of the user"))
asked = {"model": "gpt-5.2-codex", "instructions": "You are an agent.", "input": state["history"], "tools": TOOLS, "stream": False}
state["history"] += post("responses", asked, {"session_id": os.environ.get("SESSION", "session-of-codex")})["output"]
json.dump(state, open(file, "w"))
