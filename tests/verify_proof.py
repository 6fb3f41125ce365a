#!/usr/bin/env python3
"""Checks a proof of `annals prove` by the text of docs/reference/signing.md, and by nothing else.

Usage: verify_proof.py PROOF ALLOWED_SIGNERS
ALLOWED_SIGNERS holds lines of OpenSSH (`NAME TYPE KEY`) and public keys of notes (`NAME+ID+KEY`). SSH keys of other types than
ssh-ed25519 need OpenSSH's `ssh-keygen`.
Prints what is proved and who signed; exits with 1 and one line when the proof does not hold.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tempfile


class Wrong(Exception):
    """The proof does not hold."""


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def decode(text, size=None):
    """Base64, in its one form."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Wrong("not base64") from None
    if base64.b64encode(data).decode() != text or (size is not None and len(data) != size):
        raise Wrong("not base64 in its plain form")
    return data


def number(text):
    if not re.fullmatch(r"0|[1-9][0-9]{0,19}", text) or int(text) >= 2**64:
        raise Wrong(f"not a plain number: {text!r}")
    return int(text)


def hexadecimal(text):
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise Wrong("not 64 hex digits")
    return bytes.fromhex(text)


# --- Ed25519 (RFC 8032, section 6) ---------------------------------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def add(a, b):
    """The sum of two points in extended coordinates."""
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        raise Wrong("not a point of the curve")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        raise Wrong("not a point of the curve")
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519(public, message, signature):
    """Whether a signature is valid."""
    if len(signature) != 64:
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    a, b = multiply(s, BASE), add(point(signature[:32]), multiply(hashed, point(public)))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


# --- Signatures of notes ---------------------------------------------------------------------------------------------

SSH_TYPE = b"\xffannals/sshsig@v1"
NAMESPACE = b"annals-checkpoint"


def ssh_string(data):
    return len(data).to_bytes(4, "big") + data


def key_id(name, kind, public):
    return sha256(name.encode(), b"\n", kind, public)[:4]


def allowed(text):
    """The keys of a file of allowed signers: (who, of notes or None, public key). An SSH key is in the encoding of its protocol."""
    keys = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 1 and line.count("+") >= 2:
            name, identity, key = words[0].split("+", 2)
            key = decode(key, 33)
            if key[0] not in (1, 4) or key_id(name, key[:1], key[1:]).hex() != identity:
                raise Wrong(f"not a key of notes: {line}")
            keys.append((name, key[0], key[1:]))
        elif len(words) >= 3 and re.match("(sk-)?(ssh|ecdsa)-", words[1]):
            blob = decode(words[2])
            kind = ssh_string(words[1].encode())
            if not blob.startswith(kind) or (words[1] == "ssh-ed25519" and len(blob) != len(kind) + 36):
                raise Wrong(f"not a key: {line}")
            keys.append((words[0], None, blob))
    return keys


def is_valid(kind, public, text, signature):
    """Whether the bytes behind the key's id are a signature over the text."""
    if kind == 1:
        return ed25519(public, text, signature)
    if kind == 4:
        time = int.from_bytes(signature[:8], "big")
        return ed25519(public, b"cosignature/v1\ntime %d\n" % time + text, signature[8:])
    start = b"SSHSIG" + (1).to_bytes(4, "big") + ssh_string(public) + ssh_string(NAMESPACE) + ssh_string(b"")
    if not public.startswith(ssh_string(b"ssh-ed25519")):
        return signature.startswith(start) and openssh(public, text, signature)
    for name in ("sha512", "sha256"):
        head = start + ssh_string(name.encode()) + (83).to_bytes(4, "big") + ssh_string(b"ssh-ed25519") + (64).to_bytes(4, "big")
        if signature[:-64] == head:
            hashed = ssh_string(hashlib.new(name, text).digest())
            signed = b"SSHSIG" + ssh_string(NAMESPACE) + ssh_string(b"") + ssh_string(name.encode()) + hashed
            return ed25519(public[-32:], signed, signature[-64:])
    return False


def openssh(public, text, signature):
    """Whether `ssh-keygen` finds a signature of an SSH key valid."""
    kind = public[4 : 4 + int.from_bytes(public[:4], "big")].decode()
    pem = "-----BEGIN SSH SIGNATURE-----\n%s-----END SSH SIGNATURE-----\n" % base64.encodebytes(signature).decode()
    with tempfile.NamedTemporaryFile("w") as keys, tempfile.NamedTemporaryFile("w") as file:
        print("signer", kind, base64.b64encode(public).decode(), file=keys, flush=True)
        print(pem, end="", file=file, flush=True)
        command = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-I", "signer", "-f", keys.name, "-s", file.name]
        return subprocess.run(command, input=text, capture_output=True).returncode == 0


def signers(note, keys):
    """Who signed a note: at least one key that is no witness's."""
    text, empty, lines = note.rpartition("\n\n")
    text = (text + "\n").encode()
    if not empty or not lines.endswith("\n"):
        raise Wrong("not a signed note")
    found = []
    for line in lines[:-1].split("\n"):
        match = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        if not match:
            raise Wrong("not a signature line")
        name, signature = match.group(1), decode(match.group(2))
        for who, kind, public in keys:
            is_named = kind is None or who == name
            if is_named and key_id(name, bytes([kind]) if kind else SSH_TYPE, public) == signature[:4]:
                if not is_valid(kind, public, text, signature[4:]):
                    raise Wrong(f"the signature of {who} is not valid")
                found.append((who, int.from_bytes(signature[4:12], "big") if kind == 4 else None))
    if not any(time is None for _, time in found):
        raise Wrong("not signed by a key of the allowed signers")
    return found


# --- The proof -------------------------------------------------------------------------------------------------------


def root(leaf, index, size, path):
    """The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2)."""
    if index >= size:
        raise Wrong("no such leaf")
    last, node = size - 1, leaf
    for sibling in path:
        if last == 0:
            raise Wrong("the path is too long")
        if index & 1 or index == last:
            node = sha256(b"\1", sibling, node)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1", node, sibling)
        index, last = index >> 1, last >> 1
    if last:
        raise Wrong("the path is too short")
    return node


CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def session_bytes(text):
    if not re.fullmatch(f"[0-7][{CROCKFORD}]{{25}}", text):
        raise Wrong("not the id of a session")
    value = 0
    for digit in text:
        value = value << 5 | CROCKFORD.index(digit)
    return value.to_bytes(16, "big")


def lines_of(text, pattern):
    match = re.fullmatch(pattern, text)
    if not match:
        raise Wrong("not a proof of annals")
    return match.groups()


def verify(proof, allowed_signers):
    """What a proof proves and who signed it; raises Wrong when it does not hold."""
    try:
        proof = proof.decode()
    except UnicodeDecodeError:
        raise Wrong("not text") from None
    head, _, note = proof.partition("\n\n")
    extra, index, path = lines_of(head, r"c2sp\.org/tlog-proof@v1\nextra (\S+)\nindex (\d+)((?:\n\S+)*)")
    extra = decode(extra).decode("ascii", "replace")
    first, last, digest, place, batches, batch_path, session, seq, session_digest, salt = lines_of(
        extra,
        r"annals-proof v1\nbatch (\d+) (\d+) (\S+)\nplace (\d+) (\d+)((?:\n(?!session )\S+)*)\n"
        r"session (\S+) (\d+) (\S+)\nsalt (\S+)\n",
    )
    origin, size, signed_root = lines_of(note.rpartition("\n\n")[0], r"([^\n]+)\n(\d+)\n(\S+)")
    first, last, place, batches, seq = map(number, (first, last, place, batches, seq))
    index, size, count = number(index), number(size), 8
    big = lambda value: value.to_bytes(count, "big")
    batch = sha256(b"\0", big(first), big(last), hexadecimal(digest))
    batch_root = root(batch, place, batches, [decode(hash, 32) for hash in batch_path.split()])
    is_head = (last, digest) == (seq, session_digest)
    if not first <= last <= seq or is_head != (place + 1 == batches):
        raise Wrong("the batch is not where the proof says")
    leaf = sha256(
        b"\0", session_bytes(session), big(seq), hexadecimal(session_digest), big(batches), batch_root, hexadecimal(salt)
    )
    if root(leaf, index, size, [decode(hash, 32) for hash in path.split()]) != decode(signed_root, 32):
        raise Wrong("it does not lead to the root that was signed")
    who = signers(note, allowed(allowed_signers))
    return {"session": session, "first": first, "last": last, "digest": digest, "origin": origin, "size": size, "signers": who}


def main():
    """Checks the files named on the command line."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    with open(sys.argv[1], "rb") as proof, open(sys.argv[2], encoding="utf-8") as allowed_signers:
        try:
            proved = verify(proof.read(), allowed_signers.read())
        except Wrong as problem:
            sys.exit(f"{sys.argv[1]}: {problem}")
    print("session {session}, events {first} to {last}, digest {digest}".format(**proved))
    print("checkpoint {size} of {origin}".format(**proved))
    for who, time in proved["signers"]:
        print(f"signed by {who}" if time is None else f"witnessed by {who} at {time}")


if __name__ == "__main__":
    main()
