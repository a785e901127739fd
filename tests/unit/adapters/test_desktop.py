"""Notifications of the desktop, by whatever is called notify-send on the path."""

import asyncio
from pathlib import Path

import pytest

from corral.adapters import desktop


def install(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = directory / "notify-send"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_it_gets_title_and_text_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/got', monkeypatch)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    assert asyncio.run(desktop.notify("--urgency=critical", "<b>rm</b> & more")) == ""
    assert (tmp_path / "got").read_text().split("\n")[1:4] == ["--", "--urgency=critical", "&lt;b>rm&lt;/b> &amp; more"]


def test_why_it_could_not_be_done_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no notify-send" in asyncio.run(desktop.notify("t", "x"))
    install(tmp_path, "exit 3", monkeypatch)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "no session bus" in asyncio.run(desktop.notify("t", "x"))
    (tmp_path / "bus").touch()
    assert asyncio.run(desktop.notify("t", "x")) == "notify-send: exit 3"


def test_one_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "exec sleep 86396", monkeypatch)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    monkeypatch.setattr(desktop, "_SECONDS", 0.1)
    assert "did not end" in asyncio.run(desktop.notify("t", "x"))
