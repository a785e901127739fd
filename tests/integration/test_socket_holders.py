"""Who holds a socket, among processes that come and go."""

import os
import subprocess

import pytest

from corral.adapters.procfs import sockets


def test_a_process_that_ends_while_it_is_looked_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.listdir

    with subprocess.Popen(["sleep", "1000"]) as process:

        def end_it_first(directory: int) -> list[str]:
            process.kill()
            process.wait()
            return listed(directory)

        monkeypatch.setattr(os, "listdir", end_it_first)
        assert sockets.holders({1}, [process.pid]) == {1: []}
