"""The text of a message on its way into a terminal."""

from __future__ import annotations

from corral.domain.errors import WrongUseError

MAX_BYTES = 1024 * 1024
_KEPT = {"\n", "\t"}


def checked(raw: bytes) -> str:
    """The message as text, or why it cannot be one."""
    if len(raw) > MAX_BYTES:
        raise WrongUseError(
            f"the message has {len(raw)} bytes; {MAX_BYTES} (1 MiB) is the most a message may have",
            "put it into a file in the agent's workspace and send the file's name",
        )
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise WrongUseError(
            f"the message is not UTF-8: byte {error.start} cannot be read", "send text, or a file's name"
        ) from error
    if not text:
        raise WrongUseError("the message is empty", "give the text as an argument or on standard input")
    return text


def neutralised(text: str) -> str:
    """The text with control characters made visible, so that none of them can act as a key.

    An escape could end the paste early and press keys behind it. Line feeds and tabs stay; a carriage return becomes
    a line feed; any other control character becomes its picture (U+2400 and up).
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isprintable():
        return text
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    code = ord(letter)
    if letter in _KEPT or (code >= 32 and not 127 <= code < 160):
        return letter
    if code < 32:
        return chr(0x2400 + code)
    return "\u2421" if code == 127 else "\ufffd"
