"""A view of a session: how often each tool ran. Run by `annals fold SESSION -- python3 docs/questions/tools.py`."""

import collections
import json
import sys

count = collections.Counter()
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] == "tool.called":
        count[event["name"]] += 1
for tool, number in sorted(count.items()):
    print(tool, number)
