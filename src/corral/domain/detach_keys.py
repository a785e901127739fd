"""The keys with which somebody leaves a shared terminal: ctrl-b d, as in tmux. Pure; loads nothing.

tmux itself has no prefix there: its commands are not for guests.
"""

_PREFIX = 0x02
_LEAVE = ord("d")


class DetachKeys:
    """Feed it what is typed; it returns what goes to the program, and says when somebody wants to leave.

    ctrl-b is held back until the next key. ctrl-b twice is one ctrl-b; with any other key both go to the program.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = False

    def feed(self, data: bytes) -> "tuple[bytes, bool]":
        """The bytes for the program, and whether to leave: then what was typed behind it is for nobody."""
        passed = bytearray()
        for byte in data:
            if not self._held:
                if byte == _PREFIX:
                    self._held = True
                else:
                    passed.append(byte)
                continue
            self._held = False
            if byte == _LEAVE:
                return bytes(passed), True
            passed.append(_PREFIX)
            if byte != _PREFIX:
                passed.append(byte)
        return bytes(passed), False
