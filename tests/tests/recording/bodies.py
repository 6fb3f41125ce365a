"""An agent that sends the bodies of a file, one after another, as one session."""
import json, os, sys, urllib.request

HEADERS = {"content-type": "application/json", "x-api-key": "k", "x-claude-code-session-id": "s1"}
overlay = json.loads(os.environ.get("OPENCODE_CONFIG_CONTENT", "{}"))
base = overlay["provider"]["anthropic"]["options"]["baseURL"] if overlay else os.environ["ANTHROPIC_BASE_URL"] + "/v1"
for body in json.load(open(sys.argv[1])):
    urllib.request.urlopen(urllib.request.Request(base + "/messages", json.dumps(body).encode(), HEADERS)).read()
