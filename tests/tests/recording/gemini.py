"""An agent without ids, in the form of the Gemini API: before each turn it asks a model how hard the prompt is. The argument is the
number of the turn; the turns before are its history. With `compact` as a second argument the history is summarised, and the summary checked, before the turn, which
begins with the summary."""

import json
import os
import sys
import urllib.request

SCHEMA = {"type": "OBJECT", "properties": {"complexity": {"type": "INTEGER"}}}
TOOLS = [{"functionDeclarations": [{"name": "ls", "description": "Lists files.", "parametersJsonSchema": {"type": "object"}}]}]


def post(model, contents, **more):
    """Asks a model."""
    body = {"contents": contents} | more
    url = f"{os.environ['GOOGLE_GEMINI_BASE_URL']}/v1beta/models/{model}:generateContent"
    headers = {"content-type": "application/json", "x-goog-api-key": "planted-credential-1"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def said(role, text):
    return {"role": role, "parts": [{"text": text}]}


turn = int(sys.argv[1])
contents = []
for before in range(1, turn):
    contents += [said("user", f"Prompt number {before} of the user"), said("model", f"Answer {before}.")]
contents.append(said("user", f"Prompt number {turn} of the user"))
classified = post(
    "gemini-2.5-flash-lite",
    [said("user", f"How complex is this? Prompt number {turn} of the user")],
    generationConfig={"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
)
assert "complexity" in json.dumps(classified)
if "compact" in sys.argv:
    distils = "You are responsible for distilling chat history into a structured XML <state_snapshot>."
    asks = contents[:-1] + [said("user", "Generate the <state_snapshot>.")]
    summary = post("gemini-2.5-pro", asks, systemInstruction=said("user", distils))
    asks += [summary["candidates"][0]["content"], said("user", "Is anything missing in the <state_snapshot>?")]
    summary = post("gemini-2.5-pro", asks, systemInstruction=said("user", distils))
    begin = said("user", "<session_context>\nA project.\n</session_context>")
    begin["parts"] += summary["candidates"][0]["content"]["parts"]
    contents = [begin, said("model", "Got it."), contents[-1]]
answer = post("gemini-2.5-pro", contents, tools=TOOLS, systemInstruction=said("user", "You are an agent."))
assert f"Answer {turn}." in json.dumps(answer)
