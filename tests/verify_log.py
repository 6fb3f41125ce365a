#!/usr/bin/env python3
"""Checks exported Sessions by the text of fixtures/FORMAT.md, and by nothing else.

Usage: verify_log.py FILE [DIGEST]     DIGEST: one that was kept elsewhere and must be that of a Batch
       verify_log.py --vectors         computes keys and commitments that the tests of annals-core pin
Prints one damage a line as `LINE WORD` and exits with 1, or the session, the number of events and the digest of each export and
exits with 0. Says how many texts are withheld, and of a report that its page was not compared with the export in it.
"""

import base64
import gzip
import io
import json
import re
import sys
import zlib

# --- BLAKE3 (32 bytes, with and without a key) -----------------------------------------------------------------------

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXES = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)
CHUNK_START, CHUNK_END, PARENT, ROOT, KEYED = 1, 2, 4, 8, 16
MASK = 0xFFFFFFFF


def compress(chaining, block, counter, length, flags):
    """One compression; gives the 8 words of the new chaining value."""
    v = [*chaining, *IV[:4], counter & MASK, counter >> 32, length, flags]
    m = block
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(MIXES):
            for word, right_d, right_b in ((m[2 * i], 16, 12), (m[2 * i + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & MASK
                x = v[d] ^ v[a]
                v[d] = (x >> right_d | x << (32 - right_d)) & MASK
                v[c] = (v[c] + v[d]) & MASK
                x = v[b] ^ v[c]
                v[b] = (x >> right_b | x << (32 - right_b)) & MASK
        m = [m[i] for i in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def words(block):
    block = block.ljust(64, b"\0")
    return [int.from_bytes(block[i:i + 4], "little") for i in range(0, 64, 4)]


def subtree(data, chunk, root, begin=IV, keyed=0):
    """The chaining value of `data`, whose first chunk has this number."""
    if len(data) <= 1024:
        value = begin
        for at in range(0, max(len(data), 1), 64):
            block, last = data[at:at + 64], at + 64 >= len(data)
            flags = keyed | (CHUNK_START if at == 0 else 0) | (CHUNK_END | root if last else 0)
            value = compress(value, words(block), chunk, len(block), flags)
        return value
    left = 1024  # the largest power of two of whole chunks that leaves something for the right
    while left * 2 < len(data):
        left *= 2
    rest = data[left:]
    block = subtree(data[:left], chunk, 0, begin, keyed) + subtree(rest, chunk + left // 1024, 0, begin, keyed)
    return compress(begin, block, 0, 64, PARENT | root | keyed)


def blake3(data, key=None):
    begin, keyed = (IV, 0) if key is None else (tuple(words(key)[:8]), KEYED)
    return b"".join(word.to_bytes(4, "little") for word in subtree(data, 0, ROOT, begin, keyed)).hex()


# --- section 2: canonical JSON ---------------------------------------------------------------------------------------

ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
ESCAPED = re.compile(r'["\\\x00-\x1f]')


def canonical(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) < 1 << 53:
        return str(value)
    if isinstance(value, str):
        return '"' + ESCAPED.sub(lambda m: ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(one) for name, one in members) + "}"
    raise ValueError("a number that does not occur")


# --- section 1: the kinds of lines -----------------------------------------------------------------------------------

def is_seq(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_id(value):
    return isinstance(value, str) and re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", value) is not None


def is_digest(value):
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_list(one):
    return lambda value: isinstance(value, list) and all(map(one, value))


def has(**members):
    """An object with exactly these members."""
    return lambda value: (
        isinstance(value, dict) and value.keys() == members.keys() and all(is_(value[name]) for name, is_ in members.items())
    )


is_event = lambda value: isinstance(value, dict) and isinstance(value.get("type"), str)
is_keys = lambda value: isinstance(value, dict) and all(is_id(name) and is_digest(key) for name, key in value.items())
HEADER = {
    "annals": lambda value: value == "session-log",
    "format": lambda value: is_seq(value) and value == 2,
    "session": is_id,
    "head": has(digest=is_digest, next=is_seq),
    "ancestors": is_list(has(cut=is_seq, session=is_id)),
}
is_header = lambda value: has(**HEADER)(value) or has(**HEADER, keys=is_keys)(value)
is_blob = has(blob=is_digest, text=lambda value: isinstance(value, str))
is_batch = has(
    at=is_seq,
    digest=is_digest,
    events=lambda value: value != [] and is_list(is_event)(value),
    first=is_seq,
    prev=lambda value: value is None or is_digest(value),
    session=is_id,
)
is_str = lambda value: isinstance(value, str)
is_text = has(text=is_str)
is_name = has(blob=is_digest, bytes=is_seq, chars=is_seq)
is_withheld = has(bytes=is_seq, chars=is_seq, commitment=is_digest)
is_disclosed = has(key=is_digest, text=is_str)


TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')


def is_too_large(line):
    if len(line) <= 1 << 20:
        return False
    if len(line) > 64 << 20 or not line.startswith((b'{"at":', b'{"blob":')):
        return True
    return sum(map(TEXT.sub(b"", line).count, (b",", b":", b"[", b"{"))) > 1_000_000


def read(line):
    """The object of a line and its kind; None when it is not one of the format."""
    if is_too_large(line):
        return None
    try:
        text = line.decode("utf-8")
        value = json.loads(text)
        if not isinstance(value, dict) or canonical(value) != text:
            return None
    except (ValueError, RecursionError):
        return None
    for name, is_one in (("header", is_header), ("blob", is_blob), ("batch", is_batch)):
        if is_one(value):
            return name, value
    return None


# --- section 3: texts and digests ------------------------------------------------------------------------------------

class Unprovable(Exception):
    """The digest of a Batch cannot be computed: a key is missing, or a blob."""


def each_text(value, place=""):
    """Every text in an event, with its place."""
    if any(is_(value) for is_ in (is_text, is_name, is_withheld, is_disclosed)):
        yield place, value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from each_text(one, place + "/" + name.replace("~", "~0").replace("/", "~1"))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from each_text(one, f"{place}/{index}")


def text_key(session_key, seq, place):
    return bytes.fromhex(blake3(seq.to_bytes(8, "big") + place.encode("utf-8"), session_key))


def committed(value, seq, session_key, blobs, place=""):
    """A value with each text as the commitment to it."""
    if is_withheld(value):
        return value
    if is_text(value) or is_disclosed(value) or is_name(value):
        if is_disclosed(value):
            key = bytes.fromhex(value["key"])
        elif session_key is None:
            raise Unprovable("key")
        else:
            key = text_key(session_key, seq, place)
        if is_name(value):
            if value["blob"] not in blobs:
                raise Unprovable("blob")
            text = blobs[value["blob"]]
            lengths = {"bytes": value["bytes"], "chars": value["chars"]}
        else:
            text = value["text"]
            lengths = {"bytes": len(text.encode("utf-8")), "chars": len(text)}
        return {**lengths, "commitment": blake3(text.encode("utf-8"), key)}
    if isinstance(value, dict):
        inside = lambda name: place + "/" + name.replace("~", "~0").replace("/", "~1")
        return {name: committed(one, seq, session_key, blobs, inside(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [committed(one, seq, session_key, blobs, f"{place}/{index}") for index, one in enumerate(value)]
    return value


def digest_of(batch, session_key, blobs):
    content = {name: value for name, value in batch.items() if name != "digest"}
    content["events"] = [
        committed(event, batch["first"] + index, session_key, blobs) for index, event in enumerate(batch["events"])
    ]
    return blake3(canonical(content).encode("utf-8"))


# --- section 4: what holds -------------------------------------------------------------------------------------------

START, UNKNOWN = "start", "unknown"  # what may stand before a Batch instead of a Batch
BEGINNINGS = ("session.created", "session.forked")
KEY_BRINGERS = (*BEGINNINGS, "texts.erased")


def next_of(batch):
    return batch["first"] + len(batch["events"])


class Export:
    """An export while it is read."""

    def __init__(self, line, header, tell):
        self.line, self.header, self.tell = line, header, tell
        self.before, self.last, self.altered = START, None, False
        self.ancestors, self.blobs, self.waiting = [], {}, {}
        self.texts, self.absent, self.erased, self.count = {}, set(), 0, 0
        self.named, self.used, self.unproved = {}, set(), set()
        keys = (header or {}).get("keys", {})
        self.keys = {session: (bytes.fromhex(key), blake3(bytes.fromhex(key))) for session, key in keys.items()}

    def blob(self, line, value):
        name, text = value["blob"], value["text"]
        if blake3(text.encode("utf-8")) != name:
            self.tell(line, "blob")
        else:
            self.texts[name] = text
        if name in self.blobs:
            self.tell(line, "blob")
        else:
            self.waiting[name] = line
        self.blobs[name] = (len(text.encode("utf-8")), len(text))

    def batch(self, line, batch):
        found = None
        try:
            found = digest_of(batch, self.key_for(batch), self.texts)
        except Unprovable as missing:
            if missing.args == ("key",) and self.header is not None:
                if "keys" not in self.header or batch["session"] not in self.unproved:
                    self.tell(line, "key")
                self.unproved.add(batch["session"])
        if found not in (None, batch["digest"]):
            self.tell(line, "digest")
        self.chain(line, batch)
        self.altered = found != batch["digest"]
        texts = [text for event in batch["events"] for _, text in each_text(event)]
        for at, event in enumerate(batch["events"], batch["first"]):
            for place, text in each_text(event):
                if is_withheld(text):
                    self.absent.add((batch["session"], at, place))
            if event["type"] == "texts.erased":
                gone = {(batch["session"], one["seq"], one["place"]) for one in event["what"]} & self.absent
                self.absent -= gone
                self.erased += len(gone)
        self.count += len(texts)
        named = list(filter(is_name, texts))
        for one in named:
            if self.blobs.get(one["blob"]) != (one["bytes"], one["chars"]):
                self.tell(line, "blob")
        self.stray({one["blob"] for one in named})

    def key_for(self, batch):
        """The key of the session of a batch, if the header gives the one that is in force there."""
        session, first = batch["session"], batch["events"][0]
        if first["type"] in KEY_BRINGERS and is_digest(first.get("key_hash")):
            self.named[session] = first["key_hash"]
        key, name = self.keys.get(session, (None, None))
        if key is None or self.named.get(session) not in (None, name):
            return None
        self.used.add(session)
        return key

    def chain(self, line, batch):
        before, first, events = self.before, batch["first"], batch["events"]
        if before == START:
            begins, seq, prev = events[0]["type"] == "session.created", first == 0, None
        elif before == UNKNOWN:
            begins, seq, prev = True, True, batch["prev"]
        elif self.altered:
            begins, seq, prev = True, True, before["digest"]
        elif before["session"] == batch["session"]:
            begins, seq, prev = events[0]["type"] not in BEGINNINGS, first == next_of(before), before["digest"]
        else:
            fork = {"type": "session.forked", "parent": before["session"], "cut": first, "parent_digest": before["digest"]}
            begins = all(events[0].get(name) == value for name, value in fork.items())
            seq, prev = before["first"] < first <= next_of(before), before["digest"]
        if not begins or any(event["type"] in KEY_BRINGERS for event in events[1:]):
            self.tell(line, "begin")
        if not seq:
            self.tell(line, "seq")
        if prev != batch["prev"]:
            self.tell(line, "prev")
        if self.last and self.last["session"] != batch["session"]:
            self.ancestors.append({"cut": first, "session": self.last["session"]})
        self.before = self.last = batch

    def stray(self, named):
        for name, line in self.waiting.items():
            if name not in named:
                self.tell(line, "blob")
        self.waiting = {}

    def end(self):
        self.stray(set())
        if self.header is None:
            return
        last = self.last
        reached = last and (last["session"], next_of(last), last["digest"])
        if reached != (self.header["session"], self.header["head"]["next"], self.header["head"]["digest"]):
            self.tell(self.line, "head")
        if self.ancestors != self.header["ancestors"]:
            self.tell(self.line, "ancestors")
        if self.keys.keys() - self.used - self.unproved:
            self.tell(self.line, "key")


class Batches:
    """The batches of the exports of a file: rule 12."""

    def __init__(self, tell):
        self.tell, self.known, self.other, self.export = tell, {}, set(), 0

    def next_export(self):
        self.other, self.export = set(), self.export + 1

    def batch(self, line, batch):
        place = (batch["session"], batch["first"])
        digest, export = self.known.setdefault(place, (batch["digest"], self.export))
        if export < self.export and digest != batch["digest"] and batch["session"] not in self.other:
            self.other.add(batch["session"])
            self.tell(line, "other")


def verify(lines, kept=None, count=None, heads=None):
    """The damages of a file, as (line, word). `count` is called once with how many texts are withheld, how many are erased, and how many there are; `heads` with the last batch of each export."""
    damages, export, found, number, counts, first = [], None, kept is None, 0, [], None
    tell = lambda line, word: damages.append((line, word))
    batches = Batches(tell)
    for number, line in enumerate(lines, 1):
        kind, value = read(line.removesuffix(b"\n")) or (None, None)
        if kind == "header":
            if export:
                export.end()
                counts.append((len(export.absent), export.erased, export.count))
                if heads and export.last:
                    heads(export.last)
            export = Export(number, value, tell)
            batches.next_export()
            first = first or value["session"]
            continue
        if kind is None or export is None:
            tell(number, "line")
        export = export or Export(None, None, tell)
        if kind == "blob":
            export.blob(number, value)
        elif kind == "batch":
            export.batch(number, value)
            if not export.altered:
                batches.batch(number, value)
            of = export.header["session"] if export.header else value["session"]
            found = found or value["digest"] == kept and first in (None, of)
        elif number > 1:
            export.before, export.waiting = UNKNOWN, {}
    if number == 0:
        tell(1, "line")
    if export:
        export.end()
        counts.append((len(export.absent), export.erased, export.count))
        if heads and export.last:
            heads(export.last)
    if count:
        count(*(sum(column) for column in zip(*counts))) if counts else count(0, 0, 0)
    if not found:
        tell(0, "kept")
    return damages


def is_report(file):
    with open(file, "rb") as lines:
        return lines.read(36).startswith(b"<!doctype html>\n<!-- annals report ")


def opened(file):
    """The lines of an export, or of the export in a report of `annals report`."""
    lines = open(file, "rb")
    if not is_report(file):
        return lines
    with lines:
        for line in lines:
            if line == b'<script type="application/octet-stream" id="annals-export">\n':
                return gzip.open(io.BytesIO(base64.b64decode(next(lines).rstrip(b"\n"), validate=True)))
    raise ValueError("no export in it")


def main(file, kept=None):
    if file == "--vectors":
        return vectors()
    counted, heads = [], {}
    longest = lambda last: heads.update({last["session"]: max(last, heads.get(last["session"], last), key=next_of)})
    try:
        with opened(file) as lines:
            damages = verify(lines, kept, lambda *count: counted.append(count), longest)
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        print(f"the export in the report does not decode: {error}", file=sys.stderr)
        return 1
    for line, word in damages:
        print(line, word)
    for session, last in heads.items() if not damages else ():
        print(f"session {session}, {next_of(last)} events, digest {last['digest']}")
    if is_report(file):
        print("the export in this report was checked, its page was not: annals verify compares it", file=sys.stderr)
    for withheld, erased, texts in counted:
        if withheld or erased:
            rest = "" if damages else "; everything else and the order of all facts proved"
            what = f"withheld, {erased} erased" if withheld and erased else "erased" if erased else "withheld"
            print(f"{withheld or erased} of {texts} texts {what}{rest}", file=sys.stderr)
    return 1 if damages else 0


def vectors():
    key = bytes(range(32))
    print("key_hash", blake3(key))
    long = "/options/" + "k" * 200
    for seq, place, text in (
        (0, "/title", ""),
        (41, "/text", "Größe prüfen 😀"),
        ((1 << 53) - 1, "/entries/core~1date/value", '"x"'),
        (7, long, "x" * 3000),
    ):
        of_text = text_key(key, seq, place)
        print(seq, place, of_text.hex(), blake3(text.encode("utf-8"), of_text))
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
