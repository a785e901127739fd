"""`corral exec --tty`: the terminal becomes the command's, and is given back."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.house import House
from tests.unit.service.fake_keeper import runs


class Terminal:
    """A shell on a terminal of its own, that runs `corral exec --tty` and then tells how the terminal is."""

    def __init__(self, real: Instance, *words: str, rows: int = 31, columns: int = 97) -> None:
        self.received = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        command = " ".join(real.argv("exec", "a", "--tty", *words))
        self.process = subprocess.Popen(
            # The terminal is the shell's own, so that a new size is told to whoever is in the foreground.
            ["setsid", "--ctty", "sh", "-c", f"stty -g > before; {command}; echo code $?; stty -g > after"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=real.directory,
        )
        os.close(slave)
        self._directory = real.directory

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: bytes) -> None:
        deadline = time.monotonic() + 20
        while text not in self.received:
            assert time.monotonic() < deadline, self.received
            if select.select([self._master], [], [], 0.5)[0]:
                self.received += os.read(self._master, 1 << 16)

    def close(self) -> None:
        """Wait for the shell's end. The terminal is as it was."""
        assert self.process.wait(20) == 0
        os.close(self._master)
        before, after = (Path(self._directory, name).read_text() for name in ("before", "after"))
        assert after == before


class TestTerminal:
    def test_becomes_the_commands_key_by_key_and_is_given_back(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        order = house.played().order
        assert (order.tty, order.columns, order.rows, order.stdin) == (True, 97, 31, True)
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        terminal.type(b"q\x03\x1b[A")  # Ctrl-C is a key like any other
        wait_for(lambda: house.played().read == b"q\x03\x1b[A", what="the keys")
        assert house.asked("signal") == []
        terminal.resize(40, 120)
        wait_for(lambda: house.asked("resize"), what="the new size")
        assert house.asked("resize") == [{"columns": 120, "rows": 40}]
        house.do(house.played().end(4))
        terminal.until(b"code 4")
        terminal.close()

    @pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 80)])
    def test_that_does_not_know_its_size_has_the_usual_one(
        self, real: Instance, house: House, rows: int, columns: int
    ) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top", rows=rows, columns=columns)
        order = house.played().order
        assert (order.tty, order.columns, order.rows) == (True, 120, 40)
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        terminal.resize(0, 0)
        terminal.resize(40, 100)
        wait_for(lambda: house.asked("resize"), what="the new size")
        assert house.asked("resize") == [{"columns": 100, "rows": 40}]
        house.do(house.played().end(0))
        terminal.until(b"code 0")
        terminal.close()

    def test_is_given_back_before_anything_is_said(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--timeout", "100ms", "--", "top")
        terminal.until(b"code 124")
        assert b"waits for it\r\n" in terminal.received
        assert b"standard input" not in terminal.received
        terminal.close()

    def test_is_given_back_also_if_we_are_told_to_end(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        children = Path(f"/proc/{terminal.process.pid}/task/{terminal.process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        terminal.until(b"code 143")
        terminal.close()

    def test_is_given_back_when_the_daemon_goes_away(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        house.do(house.scene.ask("POST", "/v1/daemon/stop"))
        terminal.until(b"code 6")
        terminal.close()
