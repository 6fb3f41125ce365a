#!/usr/bin/env python3
"""A model provider that does what the prompt says, in the protocols of Anthropic, OpenAI and Gemini.

    provider.py [--port PORT] [--bodies DIR]

Prints `listening on URL`, then a line with the verb of each step that it answers. A prompt contains a script: `@@ shell ls @@ say Done`. Its first step is the answer to the prompt, the
next one the answer to the results of that, and so on; after the last step, and without a script, the answer is a text.

    say TEXT          a text
    shell COMMAND     a call of the agent's tool for commands
    read FILE         a call of its tool for reading
    agent PROMPT      a call of its tool for subagents; in PROMPT, `%%` stands for `@@`
    wait            a call of its tool for waiting for subagents
    slow SECONDS      a text that takes so long
    fail STATUS       the first attempt is refused with this status
    full TOKENS STEP   another step, and as many tokens of input are reported
    think STEP        another step, after a thought
    cut TEXT          a text whose connection breaks off in the middle, at the first attempt
    raw TOOL JSON     a call of this tool with these arguments; a text where the agent has no such tool
    edit FILE         a call of its tool for edits: `small` becomes `tiny`
    write FILE TEXT   a call of its tool for writing

A step may be several calls, between which stands `++`.

With --bodies, each body is written to DIR/NUMBER.request, its answer to NUMBER.answer, and what was reported of it to a line of DIR/ledger.jsonl.
"""
import argparse, gzip, json, os, re, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELL = [("exec", None), ("Bash", "command"), ("bash", "command"), ("exec_command", "cmd"), ("shell_command", "command"),
         ("shell", "command"), ("run_shell_command", "command")]
READ = [("Read", "file_path"), ("read", "filePath"), ("read_file", "file_path")]
EDIT = [("Edit", "file_path"), ("edit", "filePath"), ("replace", "file_path"), ("apply_patch", "input"), ("edit", "file_path")]
WRITE = [("Write", "file_path"), ("write", "filePath"), ("write_file", "file_path")]
PATCH = "*** Begin Patch\n*** Update File: %s\n@@\n-A small project.\n+A tiny project.\n*** End Patch\n"
AGENT = [("Task", "prompt"), ("Agent", "prompt"), ("task", "prompt"), ("spawn_agent", "message"), ("invoke_agent", "prompt")]
AGENT_EXTRA = {"Task": {"description": "Look", "subagent_type": "general-purpose"},
               "Agent": {"description": "Look", "subagent_type": "general-purpose"},
               "task": {"description": "Look", "subagent_type": "general"},
               "spawn_agent": {"task_name": "look"}, "invoke_agent": {"agent_name": "generalist"}}
# Seconds before an answer begins, as of a model; the files are captured meanwhile.
THINKS = float(os.environ.get("THINKS", "0.25"))
counter = 0
failed = set()
lock = threading.Lock()


def number():
    global counter
    with lock:
        counter += 1
        return counter


def script(text):
    if "@@" not in text:
        return None
    return [step.strip() for step in text.split("@@")[1:] if step.strip()]


def decide(turns, tools, system, body):
    """turns: ("user", text) and ("result", text) since the beginning; the step for the newest."""
    steps, done = None, 0
    for kind, text in turns:
        found = script(text) if kind == "user" else None
        if found is not None:
            steps, done = found, 0
        elif kind == "user":
            steps = None
        elif kind == "answer" and steps is not None:
            done += 1
    asked = (system + " " + " ".join(text for kind, text in turns[-1:] if kind == "user")).lower()
    if not tools and "title" in asked:
        return ("say", "List the files")
    if steps is None and "state_snapshot" in asked:
        return ("say", "<state_snapshot><overall_goal>List the files</overall_goal></state_snapshot>")
    if steps is None and "summar" in (asked if not tools else " ".join(text for kind, text in turns[-1:] if kind == "user").lower()):
        return ("say", "<summary>The user wanted a list of the files; README.md and src are there.</summary>")
    if steps is None or done >= len(steps):
        return ("say", "All done.")
    step = steps[done]
    verb, _, rest = step.partition(" ")
    return (verb, rest.replace("%%", "@@"))


def call(verb, rest, tools):
    """(name, arguments) of a call of one of the agent's tools, or None."""
    if verb == "raw":
        name, _, arguments = rest.partition(" ")
        return (name, json.loads(arguments or "{}")) if name in tools else None
    if verb == "wait":
        return ("wait_agent", {"timeout_ms": 20000}) if "wait_agent" in tools else None
    if "exec" in tools and verb == "edit":
        return "exec", "text(await tools.apply_patch(%s));" % json.dumps(PATCH % rest)
    table = {"shell": SHELL, "read": READ, "agent": AGENT, "edit": EDIT, "write": WRITE}[verb]
    file, _, content = rest.partition(" ")
    path = os.path.join(os.environ.get("PROJECT", os.getcwd()), file)
    for name, field in table:
        if name not in tools:
            continue
        if field is None:
            return name, "const done = await tools.exec_command({cmd: %s}); text(done.output ?? done);" % json.dumps(rest)
        args = {field: rest}
        if name in ("Bash", "bash"):
            args["description"] = "Runs a command"
        if verb == "read":
            args[field] = path
        if verb == "write":
            args = {field: path, "content": content}
        if verb == "edit":
            camel = field == "filePath"
            args = {field: path, "oldString" if camel else "old_string": "small", "newString" if camel else "new_string": "tiny"}
            if name == "replace":
                args["instruction"] = "Make it tiny"
        if name == "shell":
            args = {"command": ["bash", "-lc", rest]}
        if verb == "agent":
            args.update(AGENT_EXTRA[name])
        if fields := properties(tools[name]):
            # Tools of one name have other fields elsewhere.
            args = {{"file_path": "path", "filePath": "path"}.get(one, one) if one not in fields else one: value for one, value in args.items()}
            if name == "edit" and "edits" in fields:
                args = {"path": path, "edits": [{"oldText": "small", "newText": "tiny"}]}
        if name == "apply_patch":
            return name, PATCH % rest
        return name, args
    return None


def properties(tool):
    """The names of the arguments of a tool, in any protocol."""
    tool = tool.get("function") or tool
    schema = tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}
    return list(schema.get("properties") or {})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits 40 ms for the acknowledgement of its head.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        if self.headers.get("upgrade"):
            return self.json({"error": {"message": "no websocket"}}, 426)
        if self.path.rstrip("/").endswith("/models"):
            return self.json({"object": "list", "data": [], "models": []})
        self.json({"error": {"type": "not_found_error", "message": "no such path"}}, 404)

    def json(self, value, status=200):
        self.whole(json.dumps(value, separators=(",", ":")).encode(), status)

    def whole(self, body, status=200):
        self.note(body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("request-id", "req_%d" % self.number)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def note(self, piece, name="answer"):
        if self.server.bodies and getattr(self, "number", None):
            with open(os.path.join(self.server.bodies, "%04d.%s" % (self.number, name)), "ab") as file:
                file.write(piece)

    number = 0

    def begin(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("request-id", "req_%d" % self.number)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def event(self, data, name=None):
        text = ("event: %s\n" % name if name else "") + "data: " + (data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))) + "\n\n"
        piece = text.encode()
        self.note(piece)
        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.flush()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def do_POST(self):
        self.number = number()
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)) if not self.headers.get("transfer-encoding") else self.chunks()
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        self.note(raw, "request")
        self.note(("%s %s\n%s" % (self.command, self.path, self.headers)).encode(), "head")
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self.json({"error": {"message": "not JSON"}}, 400)
        try:
            if path.endswith("/messages/count_tokens"):
                self.json({"input_tokens": len(raw) // 4})
            elif path.endswith("/messages"):
                self.anthropic(body, raw)
            elif path.endswith("/responses"):
                self.openai(body, raw)
            elif path.endswith("/responses/compact"):
                kept = [item for item in body["input"] if item.get("type") == "message" and item.get("role") == "user"]
                self.json({"id": "resp_%04d" % self.number, "object": "response.compaction", "created_at": 0,
                           "output": [*kept, {"type": "compaction", "id": "cmp_%04d" % self.number, "encrypted_content": "gAAAAB" + "c" * 200}],
                           "usage": {"input_tokens": len(raw) // 4, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 50,
                                     "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": len(raw) // 4 + 50}})
            elif path.endswith("/chat/completions"):
                self.chat(body, raw)
            elif path.endswith(":countTokens"):
                self.json({"totalTokens": len(raw) // 4})
            elif "generatecontent" in path.lower():
                self.gemini(body, raw, path)
            else:
                self.json({})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def chunks(self):
        body = b""
        while True:
            size = int(self.rfile.readline().strip() or b"0", 16)
            piece = self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return body
            body += piece

    def step(self, turns, tools, system, raw):
        """(text, calls); None if the request was refused."""
        time.sleep(THINKS)
        verb, rest = decide(turns, tools, system, raw)
        self.tokens, self.pause, self.thought, self.breaks = len(raw) // 4, 0.0, None, False
        print(verb, flush=True)
        if verb in ("fail", "cut"):
            status = int((re.match(r"\d+", rest) or ["529"])[0])
            with lock:
                again = (verb, rest) in failed
                failed.add((verb, rest))
            if verb == "cut":
                self.breaks = not again
                return (rest, [])
            if not again:
                self.json({"type": "error", "error": {"type": "overloaded_error", "code": status, "status": "UNAVAILABLE", "message": "Overloaded"}}, status)
                return None
            return ("Recovered.", [])
        if verb == "full":
            with lock:
                again = rest in failed
                failed.add(rest)
            tokens, verb, rest = (rest.split(" ", 2) + ["", ""])[:3]
            # After a compaction the prompt may be all that there is: it was full once.
            self.tokens = self.tokens if again else int(tokens)
        if verb == "think":
            verb, _, rest = rest.partition(" ")
            self.thought = "I consider what %s means." % verb
        if verb == "slow":
            self.pause = float(re.match(r"[\d.]*", rest)[0] or 5) / 20
            return ("So this takes its time: " + " ".join("word%d" % at for at in range(20)), [])
        if verb in ("shell", "read", "agent", "edit", "write", "raw", "wait"):
            found = []
            for one in ("%s %s" % (verb, rest)).split("++"):
                found.append(call(*(one.strip().split(" ", 1) + [""])[:2], tools))
            if all(found):
                return ("I use %s." % found[0][0], found)
            return ("No tool for %s among %s." % (verb, ", ".join(sorted(map(str, tools))[:40])), [])
        text = rest if verb == "say" else "%s %s" % (verb, rest)
        # A subagent of Gemini CLI ends with a call.
        return (text, [("complete_task", {"result": text})] if "complete_task" in tools else [])

    def ledger(self, calls, **tokens):
        """Writes down what this answer says of itself."""
        line = {"number": self.number, "path": self.path, "calls": len(calls), **tokens}
        if self.server.bodies:
            with lock, open(os.path.join(self.server.bodies, "ledger.jsonl"), "a") as file:
                file.write(json.dumps(line) + "\n")

    def words(self, text):
        pieces = re.findall(r"\S+\s*", text)
        for at, piece in enumerate(pieces):
            if self.breaks and at == len(pieces) // 2:
                raise BrokenPipeError
            if self.pause:
                time.sleep(self.pause)
            yield piece

    def anthropic(self, body, raw):
        turns = []
        for message in body.get("messages", []):
            content = message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}]
            if message["role"] == "assistant":
                turns.append(("answer", ""))
                continue
            texts = [b["text"] for b in content if b.get("type") == "text" and not b["text"].lstrip().startswith("<system-reminder>")]
            if texts and message["role"] == "user":
                # A prompt that was interrupted may be in the same message.
                turns.append(("user", ([text for text in texts if "@@" in text] or [" ".join(texts)])[-1]))
            elif any(b.get("type") == "tool_result" for b in content):
                turns.append(("result", ""))
        system = body.get("system") or ""
        system = system if isinstance(system, str) else " ".join(b.get("text", "") for b in system)
        said = self.step(turns, {t.get("name"): t for t in body.get("tools", [])}, system, raw)
        if said is None:
            return
        text, calls = said
        blocks = [{"type": "thinking", "thinking": self.thought, "signature": "c2lnbmVk" * 4}] if self.thought else []
        blocks.append({"type": "text", "text": text})
        for at, (name, arguments) in enumerate(calls):
            blocks.append({"type": "tool_use", "id": "toolu_%04d_%d" % (self.number, at), "name": name, "input": arguments})
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": self.tokens, "output_tokens": len(text) // 4 + 1}
        message = {"id": "msg_%04d" % self.number, "type": "message", "role": "assistant", "model": body.get("model"), "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        stop = "tool_use" if calls else "end_turn"
        self.ledger(calls, input=10, cache_read=self.tokens, output=usage["output_tokens"])
        if not body.get("stream"):
            return self.json({**message, "content": blocks, "stop_reason": stop})
        self.begin()
        self.event({"type": "message_start", "message": message}, "message_start")
        for index, block in enumerate(blocks):
            empty = {**block, **{"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[block["type"]]}
            self.event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
            if block["type"] == "text":
                deltas = ({"type": "text_delta", "text": word} for word in self.words(text))
            elif block["type"] == "thinking":
                deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}, {"type": "signature_delta", "signature": block["signature"]}]
            else:
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            for delta in deltas:
                self.event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
            self.event({"type": "content_block_stop", "index": index}, "content_block_stop")
        self.event({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": usage["output_tokens"]}}, "message_delta")
        self.event({"type": "message_stop"}, "message_stop")
        self.end()

    def openai(self, body, raw):
        turns, tools = [], {}
        for t in body.get("tools") or []:
            for inner in (t.get("tools") or [t]):
                tools[inner.get("name") or inner.get("type")] = {**inner, "namespace": t.get("name") if t.get("type") == "namespace" else None}
        items = body.get("input") or []
        for item in items if isinstance(items, list) else [{"role": "user", "content": items}]:
            kind = item.get("type", "message")
            if kind == "additional_tools":
                for t in item.get("tools", []):
                    for inner in (t.get("tools") or [t]):
                        tools[inner.get("name") or inner.get("type")] = {**inner, "namespace": t.get("name") if t.get("type") == "namespace" else None}
            elif kind == "message" and item.get("role") == "user":
                content = item["content"] if isinstance(item["content"], str) else " ".join(p.get("text", "") for p in item["content"])
                if not content.lstrip().startswith(("<", "# AGENTS.md")):
                    turns.append(("user", content))
            elif kind.endswith("_call"):
                turns.append(("answer", ""))
            elif kind.endswith("_output"):
                turns.append(("result", ""))
            elif kind == "message" and item.get("role") == "assistant" and not (turns and False):
                turns.append(("text", ""))
        compacts = bool(items) and items[-1].get("type") == "compaction_trigger"
        self.tokens, self.pause, self.thought, self.breaks = len(raw) // 4, 0.0, None, False
        said = ("", []) if compacts else self.step(turns, tools, body.get("instructions") or "", raw)
        if said is None:
            return
        text, calls = said
        output = [{"type": "reasoning", "id": "rs_%04d" % self.number, "summary": [{"type": "summary_text", "text": self.thought}], "encrypted_content": "gAAAAB" + "r" * 40}] if self.thought else []
        output += [{"type": "message", "id": "msg_%04d" % self.number, "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}]
        for at, (name, arguments) in enumerate(calls):
            item = {"type": "function_call", "id": "fc_%04d_%d" % (self.number, at), "call_id": "call_%04d_%d" % (self.number, at), "status": "completed", "name": name}
            if isinstance(arguments, str):
                item.update(type="custom_tool_call", id="ctc_%04d_%d" % (self.number, at), input=arguments)
            else:
                item["arguments"] = json.dumps(arguments)
            if tools[name].get("namespace"):
                item["namespace"] = tools[name]["namespace"]
            output.append(item)
        if compacts:
            output = [{"type": "compaction", "id": "cmp_%04d" % self.number, "encrypted_content": "gAAAAB" + "c" * 200}]
        count = len(text) // 4 + 1
        usage = {"input_tokens": self.tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": count, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": self.tokens + count}
        self.ledger(calls, input=self.tokens, output=count)
        response = {"id": "resp_%04d" % self.number, "object": "response", "created_at": 0, "status": "completed", "model": body.get("model"), "output": output, "usage": usage}
        if not body.get("stream"):
            return self.json(response)
        self.begin()
        self.event({"type": "response.created", "response": {**response, "status": "in_progress", "output": [], "usage": None}}, "response.created")
        for index, item in enumerate(output):
            self.event({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []} if item["type"] == "message" else item}, "response.output_item.added")
            if item["type"] == "message":
                for word in self.words(text):
                    self.event({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0, "delta": word}, "response.output_text.delta")
            self.event({"type": "response.output_item.done", "output_index": index, "item": item}, "response.output_item.done")
        self.event({"type": "response.completed", "response": response}, "response.completed")
        self.end()

    def chat(self, body, raw):
        turns = []
        for message in body.get("messages", []):
            content = message.get("content") or ""
            content = content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)
            kind = {"assistant": "answer", "tool": "result", "user": "user"}.get(message["role"])
            if kind:
                turns.append((kind, content))
        system = " ".join(str(m.get("content")) for m in body.get("messages", []) if m["role"] == "system")
        said = self.step(turns, {t["function"]["name"]: t for t in body.get("tools") or []}, system, raw)
        if said is None:
            return
        text, called = said
        self.ledger(called, input=self.tokens, output=len(text) // 4 + 1)
        usage = {"prompt_tokens": self.tokens, "completion_tokens": len(text) // 4 + 1, "total_tokens": self.tokens + len(text) // 4 + 1}
        calls = [{"index": at, "id": "call_%04d_%d" % (self.number, at), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}} for at, (name, arguments) in enumerate(called)]
        finish = "tool_calls" if calls else "stop"
        head = {"id": "chatcmpl-%04d" % self.number, "created": 0, "model": body.get("model")}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
            return self.json({**head, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})
        self.begin()
        head["object"] = "chat.completion.chunk"
        if self.thought:
            self.event({**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": None, "reasoning_content": self.thought}, "finish_reason": None}]})
        for word in self.words(text):
            self.event({**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}]})
        if calls:
            self.event({**head, "choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}]})
        self.event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        self.event({**head, "choices": [], "usage": usage})
        self.event("[DONE]")
        self.end()

    def gemini(self, body, raw, path):
        turns = []
        for content in body.get("contents", []):
            parts = content.get("parts", [])
            if content.get("role") == "model":
                turns.append(("answer", ""))
            elif any("functionResponse" in p for p in parts):
                turns.append(("result", ""))
            else:
                texts = [p.get("text", "") for p in parts]
                texts = [text for text in texts if not text.lstrip().startswith("<session_context>")]
                if texts:
                    turns.append(("user", " ".join(texts)))
        system = " ".join(p.get("text", "") for p in (body.get("systemInstruction") or {}).get("parts", []))
        tools = {f["name"]: f for t in body.get("tools", []) for f in t.get("functionDeclarations", [])}
        schema = body.get("generationConfig", {}).get("responseJsonSchema") or body.get("generationConfig", {}).get("responseSchema")
        if schema:
            self.tokens, self.pause, self.thought, self.breaks = len(raw) // 4, 0.0, None, False
            said = json.dumps(sample(schema)), []
        else:
            said = self.step(turns, tools, system, raw)
        if said is None:
            return
        text, calls = said
        self.ledger(calls, input=self.tokens, output=len(text) // 4 + 1)
        usage = {"promptTokenCount": self.tokens, "candidatesTokenCount": len(text) // 4 + 1, "totalTokenCount": self.tokens + len(text) // 4 + 1}
        thoughts = [{"text": self.thought, "thought": True}] if self.thought else []
        called = [{"functionCall": {"name": name, "args": arguments, "id": "call_%04d_%d" % (self.number, at)}} for at, (name, arguments) in enumerate(calls)]
        last = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}], "usageMetadata": usage, "modelVersion": path.split("/")[-1].split(":")[0]}
        if "stream" not in path:
            parts = [*thoughts, {"text": text}, *called]
            return self.json({**last, "candidates": [{**last["candidates"][0], "content": {"role": "model", "parts": parts}}]})
        self.begin()
        for part in (*thoughts, *({"text": word} for word in self.words(text)), *called):
            self.event({"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]})
        self.event(last)
        self.end()


def sample(schema):
    """A value of a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type") or "object").lower()
    if kind == "object":
        return {name: sample(of) for name, of in schema.get("properties", {}).items()}
    return {"string": "text", "number": 1, "integer": 1, "boolean": True, "array": []}.get(kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bodies")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.bodies = options.bodies
    if options.bodies:
        os.makedirs(options.bodies, exist_ok=True)
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
