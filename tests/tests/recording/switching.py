"""An agent that names its session to one of its two providers alone, and goes from one to the other. The argument is how many turns are over."""

import json
import os
import sys
import urllib.request

TOOLS = [{"name": "bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]


def post(url, body, headers):
    """Asks a provider."""
    headers = headers | {"content-type": "application/json", "x-api-key": "planted-credential-1"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        answer.read()


turns = int(sys.argv[1])
said = [text for turn in range(1, turns + 1) for text in (f"Prompt number {turn} of the user", f"Answer {turn}.")]
said.append(f"Prompt number {turns + 1} of the user")
roles = ["user" if at % 2 == 0 else "assistant" for at in range(len(said))]
if turns == 1:
    kinds = {"user": "input_text", "assistant": "output_text"}
    items = [{"type": "message", "role": role, "content": [{"type": kinds[role], "text": text}]} for role, text in zip(roles, said)]
    functions = [{"type": "function", "name": "bash", "description": "Runs a command.", "parameters": {"type": "object"}}]
    asked = {"model": "gpt-5", "instructions": "You are an agent.", "input": items, "tools": functions}
    post(os.environ["OPENAI_BASE_URL"] + "/responses", asked, {"session_id": "session-of-the-agent"})
else:
    messages = [{"role": role, "content": text} for role, text in zip(roles, said)]
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "system": "You are an agent.", "messages": messages, "tools": TOOLS}
    post(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", asked, {})
