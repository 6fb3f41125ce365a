"""An agent that sends the requests of a file, one after another: each a path and a body as it is."""
import json, os, sys, urllib.request

BASES = {"/v1/messages": "ANTHROPIC_BASE_URL", "/chat/completions": "OPENAI_BASE_URL", "/responses": "OPENAI_BASE_URL"}
for path, body in json.load(open(sys.argv[1])):
    headers = {"content-type": "application/json", "x-api-key": "k"}
    request = urllib.request.Request(os.environ[BASES[path]] + path, body.encode(), headers)
    urllib.request.urlopen(request).read()
