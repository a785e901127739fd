"""Signed statements about the audit trail: up to which entry it went, with which hash. Pure; the key is elsewhere.

A *checkpoint* says: at this time the trail went up to entry `number`, whose hash was `hash`. With the chain of hashes
it vouches for every entry up to there, and it can be kept where whoever writes the trail cannot reach it. Checkpoints
are a chain of their own: each has the digest of the line before. An *anchor* says the same of what was dropped: entries
up to `number` and checkpoints up to `checkpoint` are gone, and the trail goes on from `hash` and `previous`.

A statement is one line of JSON; what is signed are the bytes of the line without the signature.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass

from corral.domain.audit import is_hash

CHECKPOINT = "checkpoint"
ANCHOR = "anchor"
#: No line is longer.
LONGEST_STATEMENT = 1024

#: So that no signature of this key can be taken for one of something else.
_PURPOSE = b"corral audit statement 1\n"
_SIGNATURE = b',"signature":"'
_END = b'"}'

Sign = Callable[[bytes], bytes]
#: True if the signature (of the key with this id) is one of the message.
Check = Callable[[str, bytes, bytes], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A checkpoint or an anchor."""

    kind: str
    #: Checkpoints are numbered from 1 on. Of an anchor, the last one that was dropped; 0 if none was.
    checkpoint: int
    #: RFC 3339 in UTC.
    time: str
    #: The last entry that it vouches for.
    number: int
    #: The hash of that entry.
    hash: str
    #: The digest of the checkpoint before; of an anchor, of the last one that was dropped.
    previous: str
    #: Which key signed it: the beginning of the SHA-256 of the public key.
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A statement that was read, with all that is needed to check it."""

    statement: Statement
    #: What the next checkpoint has as `previous`.
    digest: str
    #: What was signed, and the signature.
    message: bytes
    signature: bytes


def signed(statement: Statement, sign: Sign) -> tuple[bytes, str]:
    """The line of a statement, with its line end, and the digest of it."""
    body = json.dumps(_body(statement), separators=(",", ":")).encode("ascii")
    line = body[:-1] + _SIGNATURE + b64encode(sign(_PURPOSE + body)) + _END
    return line + b"\n", hashlib.sha256(line).hexdigest()


def read(line: bytes) -> Signed | str:
    """The statement that a line is, without its line end; or in words why it is none. The signature is not checked."""
    at = line.rfind(_SIGNATURE)
    if at < 1 or not line.endswith(_END) or len(line) > LONGEST_STATEMENT:
        return "it does not have the form of a checkpoint"
    body, encoded = line[:at] + b"}", line[at + len(_SIGNATURE) : -len(_END)]
    try:
        statement = _statement(json.loads(body))
        signature = a2b_base64(encoded, strict_mode=True)
    except (ValueError, KeyError, TypeError, RecursionError, Base64Error):
        return "it does not have the fields of a checkpoint"
    if b64encode(signature) != encoded:
        return "its signature is not spelled as it should be"
    return Signed(
        statement=statement,
        digest=hashlib.sha256(line).hexdigest(),
        message=_PURPOSE + body,
        signature=signature,
    )


def as_object(statement: Statement) -> dict[str, object]:
    """The statement for `--json`, without its signature."""
    return _body(statement)


def _body(statement: Statement) -> dict[str, object]:
    return {
        "kind": statement.kind,
        "checkpoint": statement.checkpoint,
        "time": statement.time,
        "number": statement.number,
        "hash": statement.hash,
        "previous": statement.previous,
        "key": statement.key,
    }


def _statement(body: object) -> Statement:
    if not isinstance(body, dict):
        raise TypeError("an object is wanted")
    checkpoint, number = body["checkpoint"], body["number"]
    if type(checkpoint) is not int or type(number) is not int or number < 0 or checkpoint < 0:
        raise TypeError("whole numbers are wanted")
    texts = [body[name] for name in ("kind", "time", "key")]
    if not all(isinstance(text, str) for text in texts) or texts[0] not in (CHECKPOINT, ANCHOR):
        raise TypeError("a kind, a time and a key are wanted")
    if not is_hash(body["hash"]) or not is_hash(body["previous"]):
        raise TypeError("hashes are wanted")
    return Statement(
        kind=texts[0],
        checkpoint=checkpoint,
        time=texts[1],
        number=number,
        hash=body["hash"],
        previous=body["previous"],
        key=texts[2],
    )
