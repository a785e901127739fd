"""Corral as a person has it: a wheel, installed into a virtual environment in which there is nothing else.

An editable installation, as developers have it, would be measured with the finder that makes it editable, and with
modules that are compiled at every start where Python may not write beside them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def install(directory: str) -> str:
    """Build the wheel, install it with what it needs, and return the path of the command `corral`."""
    venv.create(directory, with_pip=True)
    python = os.path.join(directory, "bin", "python")
    wheels = os.path.join(directory, "wheels")
    # As ./script/demo does it: the lock names what Corral runs on and what builds it.
    for words in (
        ["install", "--require-hashes", "-r", os.path.join(ROOT, "requirements.lock")],
        ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT],
        ["install", "--no-deps", "--no-index", "--find-links", wheels, "corral"],
    ):
        _pip(python, words)
    return os.path.join(directory, "bin", "corral")


def interpreter_of(command: str) -> str:
    """The Python that runs an installed command, as its first line names it."""
    with open(command, "rb") as file:
        line = file.readline().decode("utf-8", "surrogateescape").strip()
    path = line.removeprefix("#!").strip()
    if not line.startswith("#!") or not os.path.isabs(path) or " " in path:
        raise SystemExit(f"bench: {command} does not name its interpreter: {line[:100]!r}")
    return path


def _pip(python: str, words: list[str]) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *words],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise SystemExit(f"bench: pip {words[0]} failed, see above; --corral PATH measures one that is installed")
