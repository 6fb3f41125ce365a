#!/usr/bin/env python3
"""Runs real agents in every mode of `modes.py` against the scripted provider, recorded; imports what they wrote; and compares all of it.

    compare.py ANNALS FOLDER [--keep] [AGENT...]

Installs the newest agents into FOLDER with npm. The provider keeps each body that it received and what it said of each answer. Compared with
that: the recorded bytes, the texts and their order that `requests` and `why` show, `when` for each text, `history`, and the counts of `usage` and
`sessions`; of the files that the agent wrote: each text against `export`, the requests that were rebuilt, the counts, and that a second import
finds nothing new; and recordings against imports. Prints each difference; exit status 1 if there is one. With --keep, what an earlier run left in
FOLDER/compared is compared again, without the agents.
"""
import collections, concurrent.futures, hashlib, json, pathlib, re, shutil, subprocess, sys

import modes
import run
from world import World

# Keys of a body whose texts are no words: names, ids, signatures.
NO_WORDS = {"id", "type", "role", "cache_control", "signature", "encrypted_content", "tool_use_id", "call_id", "tool_call_id", "name", "status",
            "media_type", "mimeType", "mime_type", "thoughtSignature", "phase", "data", "detail", "namespace", "internal_chat_message_metadata_passthrough"}
# What is shown in an order of its own.
UNORDERED = {"args", "arguments", "input", "tool_calls", "reasoning_content", "author", "recipient"}
CONVERSATION = ("messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction")
# What is shown of a picture stands for its bytes.
PICTURE = re.compile(r"^data:[\w/+.-]+;base64,")


def leaves(value, key=None, skip=NO_WORDS, shortest=3):
    """The texts of a JSON value that a person reads, in order."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in skip:
                yield from leaves(inner, name, skip, shortest)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key, skip, shortest)
    elif isinstance(value, str) and len(value.strip()) >= shortest and not PICTURE.match(value):
        if key == "arguments":
            try:
                yield from leaves(json.loads(value))
                return
            except ValueError:
                pass
        yield value


def squeezed(text):
    return "".join(text.split())


def said(body, keys=CONVERSATION, skip=NO_WORDS, shortest=3):
    """The texts of a conversation in a request body. Tools that are given among the input are tools."""
    found = []
    for value in [body[key] for key in keys if key in body]:
        if isinstance(value, list):
            value = [one for one in value if not (isinstance(one, dict) and one.get("type") == "additional_tools")]
        found.extend(leaves({"text": value}, skip=skip, shortest=shortest))
    return found


def every_string(value):
    """Each text in a JSON value; of JSON in a text the texts in it, too."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from every_string(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every_string(inner)
    elif isinstance(value, str):
        yield value
        if value[:1] in ("{", "[", '"'):
            yield from every_string(json_or(value, None))
    elif value is not None:
        yield json.dumps(value)


def every_text(value):
    return "\0".join(map(squeezed, every_string(value)))


class Sent:
    """A body that the provider received, and what it answered."""

    def __init__(self, world, number):
        self.number = number
        self.bytes = (world.bodies / ("%04d.request" % number)).read_bytes()
        self.path = (world.bodies / ("%04d.head" % number)).read_text().split()[1]
        self.body = json.loads(self.bytes)
        answer = world.bodies / ("%04d.answer" % number)
        self.answer = answer.read_text() if answer.exists() else ""
        self.counts = "countTokens" in self.path or "count_tokens" in self.path
        self.texts = said(self.body)


def received(world):
    numbers = sorted(int(path.name.split(".")[0]) for path in world.bodies.glob("*.request"))
    return [Sent(world, number) for number in numbers]


def compare_requests(world):
    """The recorded requests against the bodies. Returns the bodies of each session, in order of the session's requests."""
    bodies = received(world)
    waiting = collections.defaultdict(list)
    for sent in bodies:
        waiting[hashlib.sha256(sent.bytes).digest()].append(sent)
    of_session = {}
    for session in world.sessions(world.recorded):
        of_session[session["id"]] = rows = []
        inherited = (session["fork"] or {}).get("cut", 0)
        for row in world.json(world.recorded, "requests", session["id"]):
            if row["seq"] < inherited:
                continue
            wire = subprocess.run([world.annals, "requests", session["id"], "--step", str(row["number"]), "--wire"], capture_output=True,
                                  env={**world.environment, "ANNALS_STORE": str(world.recorded)}).stdout
            found = waiting.get(hashlib.sha256(wire).digest()) or waiting.get(hashlib.sha256(wire.rstrip(b"\n")).digest())
            if not found:
                world.differ("%s request %d: its bytes were never received" % (session["id"], row["number"]), wire[:200].decode("utf8", "replace"))
                continue
            rows.append((row, found.pop(0)))
        world.ask(world.recorded, "verify", session["id"], "--requests", "--wire")
    for left in waiting.values():
        for sent in left:
            # What only counts tokens is of no conversation where there is none yet.
            if not sent.counts:
                world.differ("body %d (%s) is in no recording" % (sent.number, sent.path), (sent.texts or [""])[-1])
    return of_session


def compare_views(world, session, rows):
    """`requests --step` and `why` against each body, in order."""
    for row, sent in rows:
        number = str(row["number"])
        why = world.json(world.recorded, "why", session, "--step", number, "--full")
        shown = world.json(world.recorded, "requests", session, "--step", number)
        for name, answer in (("why", why), ("requests", shown)):
            if answer is None:
                continue
            everything = every_text(answer)
            lost = [text for text in sent.texts if squeezed(text) not in everything]
            if lost:
                world.differ("%s --step %s of %s (body %d) lacks %d texts" % (name, number, session, sent.number, len(lost)), *lost[:3])
        invented = []
        # The parts of one result are shown as one text.
        whole = every_text(sent.body) + "\0" + "".join(map(squeezed, said(sent.body, shortest=1)))
        for span in (why or {}).get("spans", []):
            text = span.get("text") or ""
            # Before the arguments of a call stands its name.
            shorter = text.partition(" ")[2] if span["sort"] == "call" else text
            known = squeezed(text) in whole or all(squeezed(one) in whole for one in leaves(json_or(shorter, shorter)))
            if len(text) >= 3 and not known and span["sort"] not in ("tool", "options"):
                invented.append("%s %s: %s" % (span["part"], span["sort"], text))
        if invented:
            world.differ("why --step %s of %s (body %d) shows %d texts that were not sent" % (number, session, sent.number, len(invented)), *invented[:3])
        compare_order(world, session, number, sent, (why or {}).get("spans", []))


def json_or(text, otherwise):
    try:
        return json.loads(text)
    except ValueError:
        return otherwise


def compare_order(world, session, number, sent, spans):
    """The parts of messages are shown in the order of the body."""
    shown, at = "\0".join(squeezed(span.get("text") or "") for span in spans if span["part"].startswith(("system", "message"))), 0
    for text in said(sent.body, ("messages", "input", "contents"), NO_WORDS | UNORDERED):
        found = shown.find(squeezed(text), at)
        if found >= 0:
            at = found
        elif squeezed(text) in shown and len(text) > 20:
            return world.differ("why --step %s of %s (body %d): out of order" % (number, session, sent.number), text)


def compare_when(world, session, rows):
    """`when` for each text: which requests carried it."""
    carried = collections.defaultdict(set)
    for row, sent in rows:
        for text in sent.texts:
            if len(text.strip()) >= 8:
                carried[text].add(row["number"])
    strings = [(row["number"], "\0".join(every_string(sent.body))) for row, sent in rows]

    def asked(text):
        done = subprocess.run([world.annals, "when", session, text[:20000], "--json"], capture_output=True, text=True,
                              env={**world.environment, "ANNALS_STORE": str(world.recorded)})
        return text, done

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for text, done in pool.map(asked, [text for text in carried if "\0" not in text]):
            if done.returncode:
                world.differ("when of %s denies a text of requests %s" % (session, spans(carried[text])), text, done.stderr[:200])
                continue
            told, answer = set(), json.loads(done.stdout)
            for sighting in answer["sightings"]:
                for stay in sighting["stays"]:
                    if stay["first"] is not None:
                        told.update(range(stay["first"], (stay["last"] or stay["first"]) + 1))
            true = {number for number, body in strings if text[:20000] in body}
            numbers = {row["number"] for row, _ in rows}
            if told & numbers != true & numbers:
                world.differ("when of %s: requests %s, sent with %s" % (session, spans(told & numbers), spans(true)), text)


def spans(numbers):
    return ",".join(map(str, sorted(numbers))) or "none"


def compare_history(world, session, rows):
    """`history` has each text of the newest request of a turn, and its answer."""
    turns = [(row, sent) for row, sent in rows if row["purpose"] == "turn"]
    if not turns:
        return
    history = every_text(world.json(world.recorded, "history", session))
    # A text of the system prompt that changes with each request is shown with the request.
    shown = world.json(world.recorded, "requests", session, "--step", str(turns[-1][0]["number"])) or {}
    context = every_text([world.json(world.recorded, "context", session), shown.get("system")])
    lost = [text for text in turns[-1][1].texts if squeezed(text) not in history and squeezed(text) not in context]
    if lost:
        world.differ("history of %s lacks %d texts of its newest request %d" % (session, len(lost), turns[-1][0]["number"]), *lost[:4])


def ledger(world):
    path = world.bodies / "ledger.jsonl"
    return {line["number"]: line for line in map(json.loads, path.read_text().splitlines())}


CALLS = re.compile(r"(?:toolu|call)_\d{4}_\d+")


def price_table(world):
    """Nano-dollars for a million tokens of each kind, by model."""
    listed = world.json(world.recorded, "models", "--all") or []
    return {one["model"]: one["nano_dollars_per_million"] for one in listed if any(one["nano_dollars_per_million"].values())}


def price_of(prices, model):
    """The prices of a model, which agents may call by the day of its version; None where the table has none."""
    return prices.get(model) or prices.get(re.sub(r"-(\d{8}|latest)$", "", model))


def cost_of(line, price):
    """What the provider would bill for an answer, in nano-dollars, rounded down as an answer is."""
    return sum(line.get(key, 0) * price[key] for key in ("input", "output", "cache_read")) // 1_000_000


def compare_cost(world, session, rows, told, prices, usage):
    """The cost of `usage` against the tokens of the provider at the prices of the table."""
    priced = [(told[sent.number], price_of(prices, row["model"]), ended(sent)) for row, sent in rows if sent.number in told]
    # Requests for one summary count once.
    if bool(usage["unpriced"]) != any(price is None and whole for _, price, whole in priced):
        world.differ("usage of %s: %d answers without a price" % (session, usage["unpriced"]))
    least = sum(cost_of(line, price) for line, price, whole in priced if price and whole)
    most = sum(cost_of(line, price) for line, price, _ in priced if price)
    if not least <= usage["cost"] <= most:
        world.differ("usage of %s: %d nano-dollars, the provider's answers cost %d" % (session, usage["cost"], least))


def compare_counts(world, session, rows, told, prices, is_fork):
    """Tokens, cost and calls of `usage` against what the provider said."""
    if not rows:
        return
    usage = world.json(world.recorded, "usage", session)
    if usage is None:
        return
    # An answer that broke off has said its input at most.
    whole = [told[sent.number] for _, sent in rows if sent.number in told and ended(sent)]
    broken = [told[sent.number] for _, sent in rows if sent.number in told and not ended(sent)]
    # Calls of a conversation that began before its recording, or with another provider, are in its bodies; those that a fork inherits are not its own.
    texts = [sent.answer for _, sent in rows if ended(sent)] + [sent.bytes.decode() for _, sent in rows if not is_fork]
    calls = len(set(CALLS.findall(" ".join(texts))))
    if usage["safety"]["calls"] != calls:
        world.differ("usage of %s: %d calls, the provider made %d" % (session, usage["safety"]["calls"], calls))
    for key in ("input", "output", "cache_read"):
        least = sum(line.get(key, 0) for line in whole)
        most = least + sum(line.get(key, 0) for line in broken)
        if not least <= (usage[key] or 0) <= most:
            world.differ("usage of %s: %s %s, the provider said %d" % (session, key, usage[key], least))
    compare_cost(world, session, rows, told, prices, usage)


def ended(sent):
    return any(mark in sent.answer for mark in ('"type":"message_stop"', "[DONE]", '"type":"response.completed"', '"finishReason"', '"stop_reason":"', '"status":"completed","model"', '"finish_reason":"'))


def transcripts(world):
    """The files that the agent wrote of its sessions."""
    places = {"claude": [".claude/projects"], "codex": [".codex/sessions"], "opencode": [], "gemini": [], "qwen": [], "pi": []}[world.name]
    return [path for place in places for path in sorted((world.home / place).rglob("*.jsonl"))]


def compare_import(world):
    """Every text of the agent's files is in an export of the import, and a second import finds nothing."""
    shutil.rmtree(world.imported, ignore_errors=True)
    report = world.root / "import.json"
    out = world.ask(world.imported, "import", "--report", str(report))
    print("  " + "\n  ".join(out.splitlines()[-8:]))
    again = world.ask(world.imported, "import")
    if "nothing new" not in again.lower():
        world.differ("the second import", again[-800:])
    told = json.loads(report.read_text()) if report.exists() else {}
    (world.root / "report.txt").write_text(json.dumps(told, indent=1))
    sessions = world.sessions(world.imported)
    exports = {}
    for session in sessions:
        exports[session["id"]] = world.ask(world.imported, "export", session["id"])
        world.ask(world.imported, "verify", session["id"], status=(0,))
    everything = "\0".join(every_text([json.loads(line) for line in export.splitlines()]) for export in exports.values())
    for path in transcripts(world):
        lost = collections.Counter()
        example = {}
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            kind = "/".join(str(part) for part in (record.get("type"), (record.get("payload") or {}).get("type") if isinstance(record.get("payload"), dict) else record.get("subtype")) if part)
            for where, text in placed(record, kind + " "):
                # A reminder may be sent as a message of the system.
                bare = text.removeprefix("<system-reminder>").removesuffix("</system-reminder>")
                # The path of a picture is the name of the attachment.
                if squeezed(bare) not in everything and not bare.startswith("<image name="):
                    lost[where] += 1
                    example.setdefault(where, text)
        for where, count in lost.most_common():
            world.differ("%s: %d texts at %s are in no export" % (path.relative_to(world.home), count, where), example[where])
    for session in told.get("sessions", []):
        for what, loss in session["losses"].items():
            if loss["kind"] == "content" and not what.endswith(SEALED):
                world.differ("not imported: %s (%d)" % (what, loss["count"]))


# What only the provider can read.
SEALED = "an encrypted summary"
# Fields of session files that are no content of a session: ids, hashes, kinds, how the program is set and shows it, copies of messages.
SETTINGS = re.compile(
    r"(uuids?|[uU]uids|UUID|Uuid|[iI]d|/type|/subtype|requestRef|/base|/tail/\*|digests/\*|revision|hash|Hash|Digest|version|timestamp|cwd|path|Path|slug|"
    r"gitBranch|entrypoint|userType|permissionMode|producer|turnOrigin|serverClassifierRequest|/source|/reason|/formatted|/stop_reason|lastPrompt|"
    r"content_item_kinds/\*)$|signature|encrypted_content|/data$|usage|/payload/state/|guardian_history|retained_context|replacement_history|/tools/\*/|"
    r"preservedMessages|toolUseResult|compact_boundary /content")


def placed(value, where=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from placed(inner, "%s/%s" % (where, name))
    elif isinstance(value, list):
        for inner in value:
            yield from placed(inner, where + "/*")
    elif isinstance(value, str) and len(value.strip()) >= 12 and not SETTINGS.search(where):
        yield where, value


def as_noted(body):
    """A request of Claude Code as it notes it: without what is about the exchange, and the block that names the build for billing."""
    messages = [{**one, "content": [{"type": "text", "text": one["content"]}] if isinstance(one.get("content"), str) else one.get("content")} for one in body["messages"]]
    system = [block for block in body.get("system") or [] if not block.get("text", "").startswith("x-anthropic-billing-header")]
    return canonical({**{name: value for name, value in body.items() if name not in ("metadata", "stream", "betas", "thread", "diagnostics", "safeguards")}, "system": system, "messages": messages})


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


# Requests that an agent does not write into its files, by their purpose.
UNWRITTEN = {"claude": {"summary"}, "opencode": {"title"}}


def unwritten(world, of_session):
    """The numbers of the requests that the agent does not write into its files."""
    purposes = UNWRITTEN.get(world.name, ())
    return {sent.number for rows in of_session.values() for row, sent in rows if row["purpose"] in purposes}


def compare_rebuilt(world, of_session):
    """Requests that were rebuilt from the files of Claude Code, against the bodies."""
    waiting = collections.Counter(as_noted(sent.body) for sent in received(world) if not sent.counts)
    for session in world.sessions(world.imported):
        for row in world.json(world.imported, "requests", session["id"]) or []:
            number = str(row["number"])
            body = json.loads(world.ask(world.imported, "requests", session["id"], "--step", number, "--wire"))
            if not waiting[as_noted(body)]:
                world.differ("import %s request %s: its body was never received" % (session["id"], number), json.dumps(body["messages"][-1:])[:300])
            waiting[as_noted(body)] -= 1
        told = world.ask(world.imported, "verify", session["id"], "--requests")
        if "not proved" in told or "is not proved" in told:
            world.differ("verify --requests of the import %s" % session["id"], "\n".join(told.splitlines()[-5:]))
    left = [body for body, count in waiting.items() if count > 0]
    # The agent notes a request that it sends again once.
    answered = [sent for sent in received(world) if not sent.counts and as_noted(sent.body) in left and ended(sent)]
    answered = [sent for sent in answered if sent.number not in unwritten(world, of_session)]
    for sent in answered:
        world.differ("body %d is in no import" % sent.number, sent.texts[-1])


def compare_import_counts(world, told, of_session, prices):
    """What the files of the agent give of tokens and cost, against what the provider said. Of an answer that broke off it said its input at most."""
    sent = {sent.number: sent for sent in received(world)}
    written = [line for number, line in told.items() if number not in unwritten(world, of_session)]
    total = (world.json(world.imported, "usage", "--all") or {}).get("total", {})
    for key in ("input", "output", "cache_read"):
        least = sum(line.get(key, 0) for line in written if ended(sent[line["number"]]))
        most = sum(line.get(key, 0) for line in written)
        if not least <= total.get(key, 0) <= most:
            world.differ("usage of the imports: %s %s, the provider said %d" % (key, total.get(key), least))
    # OpenCode writes what an answer costs by a table of its own.
    models = {sent.number: row["model"] for rows in of_session.values() for row, sent in rows}
    priced = [(line, price_of(prices, models.get(line["number"], ""))) for line in written]
    if world.name == "opencode" or not all(price for _, price in priced):
        return
    least = sum(cost_of(line, price) for line, price in priced if ended(sent[line["number"]]))
    most = sum(cost_of(line, price) for line, price in priced)
    if not least <= total.get("cost", 0) <= most:
        world.differ("usage of the imports: %s nano-dollars, the provider's answers cost %d" % (total.get("cost"), least))


def conversation_of(world, store, session):
    """What the user and the model said, and the calls that a model made."""
    for message in world.json(store, "transcript", session) or []:
        if message["type"] == "user":
            yield "user", squeezed(message["text"])
        elif message["type"] == "compaction":
            yield "compaction", ""
        for content in message.get("content", []):
            if content["type"] == "text" and not message.get("error"):
                yield "text", squeezed(content["text"])
            elif content["type"] == "tool":
                # Code of Codex is a text, and in a recording the value of an object.
                asked = content["input"]
                asked = asked["value"] if isinstance(asked, dict) and list(asked) == ["value"] else asked
                # Claude Code writes arguments with their defaults; other agents give calls ids of their own.
                own = content["call"].partition("~")[0]
                yield "call", own if world.name == "claude" else "%s %s" % (content["name"], canonical(asked))


def compare_stores(world):
    """A recording and an import of one session: the same prompts, answers and calls."""
    sides = []
    for store in (world.recorded, world.imported):
        sides.append([(session, list(conversation_of(world, store, session["id"]))) for session in world.sessions(store)])
    all_read = {what for _, read in sides[1] for what in read}
    for session, said in sides[0]:
        def alike(other):
            return len(set(said) & set(other[1])) - abs(len(said) - len(other[1])) / 10
        if not sides[1]:
            return world.differ("nothing was imported")
        other, read = max(sides[1], key=alike)
        for name, one, two in (("import", said, read), ("recording", read, said)):
            left = collections.Counter(one) - collections.Counter(two)
            if name == "import":
                # What a sub-agent was given of its parent is in the parent's files alone.
                left = [what for what in left if session["parent"] is None or what not in all_read]
            # Calls that code of the agent made are in its files alone; who compacted is compared elsewhere.
            left = [what for what in left if not (what[0] == "call" and name == "recording" or what[0] == "compaction")]
            if left:
                world.differ("%s: %d are not in the %s of it, %s" % (session["id"], len(left), name, other["id"]), *["%s %s" % what for what in left[:6]])
        if session["turns"] != other["turns"]:
            world.differ("%s has %s turns, the import %s of it %s" % (session["id"], session["turns"], other["id"], other["turns"]))


def main():
    arguments = sys.argv[1:]
    keep = "--keep" in arguments
    arguments = [one for one in arguments if one != "--keep"]
    annals, folder = str(pathlib.Path(arguments[0]).resolve()), pathlib.Path(arguments[1]).resolve()
    names = arguments[2:] or list(modes.MODES)
    missing, bad = [] if keep else run.install(folder, names), 0
    for name in [name for name in names if name not in missing]:
        world = World(annals, folder, name)
        print("%s" % name, flush=True)
        if not keep:
            world.prepare()
            world.run_modes()
        of_session, told = compare_requests(world), ledger(world)
        prices = price_table(world)
        forks = {session["id"] for session in world.sessions(world.recorded) if session["fork"]}
        for session, rows in of_session.items():
            compare_views(world, session, rows)
            compare_when(world, session, rows)
            compare_history(world, session, rows)
            compare_counts(world, session, rows, told, prices, session in forks)
        if name in ("claude", "codex", "opencode"):
            compare_import(world)
            compare_import_counts(world, told, of_session, prices)
            compare_stores(world)
        if name == "claude":
            compare_rebuilt(world, of_session)
        print("%s: %d requests in %d sessions, %d differences" % (name, sum(map(len, of_session.values())), len(of_session), world.differences.total()), flush=True)
        bad += world.differences.total()
    if missing:
        print("not installed: " + ", ".join(missing))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
