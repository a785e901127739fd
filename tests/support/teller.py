"""A program that keeps conversations as coding agents do, and a person's own profile that says so.

It tells a log with which words it was started and what it was told, and writes a conversation down once something was
said in it. A file `broken` in its home keeps it from continuing any.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.instance import Instance

_PROFILE = """name = "teller"
title = "Teller"
executable = "teller"
command = ["teller"]
ready = ['^teller>']
paste_pause = 0.0
note = "Of the tests."

[resume]
words = ["--resume", "{session}"]
fork = ["--fork", "{session}", "{new}"]
begin = ["--id", "{new}"]
unless = ["--own"]

[resume.transcripts]
roots = ["$TELLER_HOME/said"]
files = ["*.jsonl"]
session = '(?P<session>[0-9a-f-]+)\\.jsonl'
directory = "cwd"
"""

_PROGRAM = """
import json, os, sys

home, words = os.environ["TELLER_HOME"], sys.argv[1:]
here = os.environ["CORRAL_AGENT"]


def log(**what):
    with open(os.path.join(home, here + ".log"), "a") as file:
        file.write(json.dumps(what) + "\\n")


def place(session):
    return os.path.join(home, "said", session + ".jsonl")


log(started=words)
if not words or words[0] == "--own":
    session, past = "0123", []
elif words[0] == "--id":
    session, past = words[1], []
else:
    if os.path.exists(os.path.join(home, "broken")) or not os.path.exists(place(words[1])):
        print("no such conversation")
        sys.exit(1)
    with open(place(words[1])) as file:
        past = [json.loads(line)["text"] for line in file]
    session = words[1] if words[0] == "--resume" else words[2]
print("teller>", flush=True)
for line in sys.stdin:
    past.append(line.strip())
    log(told=past)
    with open(place(session), "w") as file:
        for text in past:
            file.write(json.dumps({"cwd": os.getcwd(), "text": text}) + "\\n")
    print("teller>", flush=True)
"""


class Teller:
    """The program, installed in a directory of its own, and known to the instance."""

    def __init__(self, instance: Instance, directory: Path) -> None:
        self.home = directory
        self.command = [str(directory / "teller")]
        (directory / "said").mkdir(parents=True)
        program = directory / "teller"
        program.write_text(f"#!{sys.executable}\n{_PROGRAM}")
        program.chmod(0o755)
        profiles = Path(instance.home, "profiles")
        profiles.mkdir(parents=True)
        os.chmod(instance.home, 0o700)
        (profiles / "teller.toml").write_text(_PROFILE)

    @property
    def env(self) -> dict[str, str]:
        """What it needs in its environment."""
        return {"TELLER_HOME": str(self.home)}

    def breaks(self) -> None:
        """It cannot continue any conversation from now on."""
        (self.home / "broken").touch()

    def starts(self, agent: str) -> list[list[str]]:
        """The words of each start of it for that agent."""
        return [entry["started"] for entry in self._log(agent) if "started" in entry]

    def told(self, agent: str) -> list[list[str]]:
        """For each message, everything that was said in the conversation up to it."""
        return [entry["told"] for entry in self._log(agent) if "told" in entry]

    def _log(self, agent: str) -> list[dict[str, Any]]:
        path = self.home / f"{agent}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
