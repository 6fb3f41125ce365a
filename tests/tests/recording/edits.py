"""An agent that changes what it sends: it drops reasoning, runs another command than it was asked to, clears a result."""
import json, os, urllib.request

URL = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"


def ask(messages):
    body = json.dumps({"model": "m", "max_tokens": 9, "system": "Be brief.", "messages": messages}).encode()
    urllib.request.urlopen(urllib.request.Request(URL, body, {"content-type": "application/json", "x-api-key": "k"})).read()


messages = [{"role": "user", "content": "go"}]
ask(messages)
call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls -la"}}
output = {"type": "tool_result", "tool_use_id": "t1", "content": "the long output"}
messages += [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}, {"role": "user", "content": [output]}]
ask(messages)
output["content"] = "[cleared]"
messages[2]["content"].append({"type": "novel", "words": "a part of another time"})
messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "more"}]
ask(messages)
