"""An agent on an SDK: three turns with a tool, in the form of Anthropic Messages. Ends with status 7."""

import json
import os
import sys
import urllib.error
import urllib.request

SYSTEM = [{"type": "text", "text": "You are a careful agent. " * 20, "cache_control": {"type": "ephemeral"}}]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = [{"name": "Bash", "description": "Runs a command.", "input_schema": SCHEMA}]


def post(messages, path="/v1/messages?beta=true", **more):
    """Sends the messages with a mark at the end, which moves from request to request, as agents do."""
    marked = json.loads(json.dumps(messages))
    marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    body = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": marked, "system": SYSTEM, "tools": TOOLS} | more
    data = json.dumps(body, separators=(",", ":")).encode()
    headers = {"content-type": "application/json", "x-api-key": "sk-planted-credential-1", "x-claude-code-session-id": "one"}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + path, data, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


def text(text):
    return {"type": "text", "text": text}


messages = [{"role": "user", "content": [text("<system-reminder>\nIt is Monday.\n</system-reminder>"), text("list the files")]}]
assert "message_stop" in post(messages, stream=True)
call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
messages.append({"role": "assistant", "content": [text("I look."), call]})
result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "README.md"}
messages.append({"role": "user", "content": [result]})
assert "overloaded" in post(messages)
assert "One file." in post(messages)
post(messages, path="/v1/messages/count_tokens")
messages.append({"role": "assistant", "content": [text("One file.")]})
messages.append({"role": "user", "content": [text("the key is " + sys.argv[1])]})
assert "Thanks." in post(messages)
sys.exit(7)
