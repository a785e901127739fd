"""The terminal's line discipline while an agent owns it: every key arrives as it is pressed, nothing is echoed."""

import contextlib
import termios
from collections.abc import Iterator

_LFLAG, _IFLAG, _CC = 3, 0, 6


@contextlib.contextmanager
def raw_keys(fd: int) -> Iterator[None]:
    """Deliver keys raw from the terminal `fd`; however the block ends, the settings are back afterwards.

    Output is still cooked, and what was typed before is kept.
    """
    before = termios.tcgetattr(fd)
    raw = termios.tcgetattr(fd)
    raw[_LFLAG] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    # A CR must stay a CR and ^S, ^Q must arrive: a paste may hold any of them.
    raw[_IFLAG] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.ISTRIP)
    raw[_CC][termios.VMIN] = 1
    raw[_CC][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSANOW, raw)
    try:
        yield
    finally:
        # The terminal may be gone: its window was closed, and that is why we end.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSANOW, before)
