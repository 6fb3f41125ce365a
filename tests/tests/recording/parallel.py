"""An agent that starts three subagents at once, each with an id of its own, under one session id."""

import json
import os
import sys
import threading
import urllib.request

TOOL = {"name": "Agent", "description": "Starts a subagent.", "input_schema": {"type": "object"}}


def post(messages, agent=None):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages, "system": "You are an agent.", "tools": [TOOL]}
    headers = {"content-type": "application/json", "x-claude-code-session-id": "many"}
    headers |= {"x-claude-code-agent-id": agent} if agent else {}
    data = json.dumps(body, separators=(",", ":")).encode()
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data, headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


prompts = [f"Look into folder number {number}" for number in range(3)]
history = [user("Look everywhere")]
calls = [{"type": "tool_use", "id": f"toolu_{at}", "name": "Agent", "input": {"prompt": prompt}} for at, prompt in enumerate(prompts)]
assert post(history)["content"] == calls, "the script has the calls"
history.append({"role": "assistant", "content": calls})
threads = [threading.Thread(target=post, args=([user(prompt)], f"agent-{at}")) for at, prompt in enumerate(prompts)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "Nothing."} for call in calls]
history.append({"role": "user", "content": results})
post(history)
sys.exit(0)
