"""Output of others as it may be shown on somebody's terminal: of a recording, or of a keeper that is not theirs. Pure.

What a program writes can ask a terminal to answer (into the shell of whoever looks), to put something into the
clipboard, to rename windows or to change what keys send. Of all that nothing is let through: text, colours, the cursor,
erasing and scrolling are, and of the modes those that only change what is seen.
"""

import re

#: A whole sequence, or text. What is cut off at the end of a piece waits for the rest.
_PIECE = re.compile(
    r"\x1b\[(?P<parameters>[0-9:;<=>?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    # Begun, and given up for something else: what a control character or another sequence cut off never ends.
    r"|\x1b\[[0-9:;<=>?]*+[ -/]*+(?=[^@-~])"
    r"|\x1b(?:[P\]X^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|(?=\x1b[^\\])))"
    r"|\x1b(?P<charset>[()*+][0-9A-Za-z])"
    r"|\x1b[()*+](?=[^0-9A-Za-z])"
    r"|\x1b(?P<short>[78DEMHc=>])"
    r"|\x1b[^\[P\]X^_()*+]"
    r"|(?P<text>[^\x1b\x00-\x08\x0e-\x1f\x7f-\x9f]+)"
    r"|(?P<control>[\x08\x0e\x0f])"
    r"|[\x00-\x1a\x1c-\x1f\x7f-\x9f]",
    re.DOTALL,
)
#: Final letters of control sequences that move, erase, scroll, colour, save and restore.
_FINALS = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu")
#: Private modes that change what is seen: the cursor, wrapping, the origin, the other screen, whole pictures.
_MODES = frozenset(("5", "6", "7", "12", "25", "47", "1047", "1048", "1049", "2026"))
_SHORT = frozenset("78DEMH")
#: A letter that is repeated more often than any screen is wide keeps some terminals busy for minutes.
_REPEATED_DIGITS = 4
#: No sequence that is let through is longer; what goes on without an end is dropped.
_LONGEST = 4096


class SafeOutput:
    """Feed it output in pieces; what comes out can be shown."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, output: str) -> str:
        """What of it is harmless. A sequence that is not complete yet waits."""
        text = self._rest + output
        self._rest = ""
        shown, at = [], 0
        while at < len(text):
            found = _PIECE.match(text, at)
            if found is None:  # it is not complete
                if len(text) - at <= _LONGEST:
                    self._rest = text[at:]
                    break
                at += 1  # it has no end: its first letter is dropped, and the rest is looked at anew
                continue
            shown.append(_harmless(found))
            at = found.end()
        return "".join(shown)


def _harmless(found: "re.Match[str]") -> str:
    if (text := found["text"] or found["control"]) is not None:
        return text
    if found["charset"] is not None:
        return found[0]
    if (short := found["short"]) is not None:
        return found[0] if short in _SHORT else ""
    final, parameters = found["final"], found["parameters"]
    if final is None or found["between"]:
        return ""
    if final in "hl":
        if not parameters.startswith("?"):
            return found[0] if parameters == "4" else ""  # 20 changes what Return sends
        kept = [mode for mode in parameters[1:].split(";") if mode in _MODES]
        return f"\x1b[?{';'.join(kept)}{final}" if kept else ""
    if final == "b" and len(parameters) > _REPEATED_DIGITS:
        return ""
    # With a sign in front it is another sequence: `CSI > c` asks who the terminal is.
    return found[0] if final in _FINALS and not parameters.startswith(("?", ">", "<", "=")) else ""
