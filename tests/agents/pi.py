#!/usr/bin/env python3
"""Runs pi with the addresses that the recorder gives: pi takes them from its settings alone."""
import json, os, pathlib, sys

addresses = {"anthropic": os.environ["ANTHROPIC_BASE_URL"], "openai": os.environ["OPENAI_BASE_URL"], "google": os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta"}
pathlib.Path(os.environ["HOME"], ".pi/agent/models.json").write_text(json.dumps({"providers": {name: {"baseUrl": url} for name, url in addresses.items()}}))
os.execvp("pi", ["pi", *sys.argv[1:]])
