"""A question as the bytes that an engine gets, for all engines alike."""

from __future__ import annotations

import msgspec

from corral.domain.policy import BUSY, NOT_PLAIN, TOO_LARGE, Decision, Question, denied

#: A question has some 300 bytes, most of them names. One with more than this is an attempt at something else.
_MOST_BYTES = 16 << 10
#: So many questions wait for a decision at once; it takes a crowd to get there, and each waits a fraction of a second.
MOST_WAITING = 1024
_encoder = msgspec.json.Encoder()


def encoded(document: dict[str, object]) -> bytes | Decision:
    """The document as JSON; a denial if no engine is to be asked.

    No name of a user, a team or an agent has a quote, a backslash or a control character. Whatever has one was made to
    be read as something else by somebody, and rego-cpp would: it takes a text for the inside of a JSON string.
    """
    try:
        text = _encoder.encode(document)
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError, ValueError):
        return denied(NOT_PLAIN, "the question has something in it that is no text, so it is denied")
    if len(text) > _MOST_BYTES:
        return denied(TOO_LARGE, f"the question has more than {_MOST_BYTES} bytes, so it is denied")
    # JSON escapes exactly those characters, and escapes with a backslash.
    if b"\\" in text:
        return denied(NOT_PLAIN, "the question has a quote, a backslash or a control character, so it is denied")
    return text


def whole(question: Question) -> tuple[dict[str, object], bytes | Decision]:
    """The document of a question, and what `encoded` makes of it."""
    document = question.document()
    return document, encoded(document)


def crowded() -> Decision:
    """The denial of a question that came when too many waited."""
    return denied(BUSY, f"{MOST_WAITING} other questions wait for a decision, so this is denied")
