"""What programs of others wrote, on its way to stdout: byte for byte, but a terminal gets only what shows something."""

import sys

from corral.cli.output import write_bytes


class Harmless:
    """Feed it output in pieces; what comes out neither has a terminal answer nor do more than show."""

    def __init__(self) -> None:
        import codecs

        from corral.domain.safe_output import SafeOutput

        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._feed = SafeOutput().feed

    def __call__(self, output: bytes) -> bytes:
        return self._feed(self._decode(output)).encode("utf-8", "replace")


class Foreign:
    """Writes one stream of output, in pieces."""

    def __init__(self) -> None:
        self._shown = Harmless() if sys.stdout.isatty() else bytes

    def __call__(self, output: bytes) -> None:
        write_bytes(self._shown(output))
