"""Every operation of the API with made-up requests, valid and not, on a real daemon with real agents."""

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.marks import KINDS, mark
from tests.fuzz.planting import asking, plant
from tests.fuzz.run import Fuzz
from tests.fuzz.taming import Ground
from tests.fuzz.wire import Identity, over_socket
from tests.support.instance import Instance

pytestmark = [pytest.mark.tmux, pytest.mark.slow]

#: What is given to the environment of an agent, or of a command, is in nobody's answer; all else is one's own.
MARKS = {kind: mark("prey", kind) for kind in KINDS}
TOLD = {kind for kind, act in KINDS.items() if act}
AGENTS = ("prey-a", "prey-b")
SPEC = """[team]
name = "{team}"
repo = "."
[agents.{team}-a]
command = ["cat"]
env = {{ TOKEN = "{secret}" }}
[agents.{team}-b]
command = ["cat"]
"""
#: More of it, for whoever has the time.
EXAMPLES = int(os.environ.get("CORRAL_FUZZ_EXAMPLES", "6"))


def prepared(instance: Instance, repository: Path) -> tuple[Ground, Identity, dict[str, Any]]:
    """A team to do everything to, with something of each kind that can be asked about."""
    instance.spec(SPEC.format(team="prey", secret=MARKS["environment"]), repository)
    instance.run("up", cwd=repository)
    identity = Identity("owner", over_socket(os.path.join(instance.runtime, "daemon.sock")))

    asked = asking(identity)
    known = plant(asked, "prey", AGENTS, str(repository), ("p0123456789", "p9876543210"), getpass.getuser())
    document = asked("GET", "/v1/openapi.json")
    return Ground("prey", AGENTS, str(repository), known), identity, document


#: Operations that are to be answered with a success at least once, or nothing but refusals is fuzzed. There are 87.
REACHED = {"made up": 50, "edges": 40}


@pytest.mark.parametrize("how", ["made up", "edges"])
def test_whatever_is_asked_the_daemon_answers_as_its_document_says(
    how: str, instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    ground, identity, document = prepared(instance, repo())
    beside = own_directory / "beside"
    beside.mkdir()
    instance.spec('[team]\nname = "calm"\n[agents.calm-one]\ncommand = ["cat"]\n', beside)
    instance.run("up", cwd=beside)
    before = calm(instance)
    daemon = instance.json("daemon", "status")["pid"]
    fuzz = Fuzz(document, ground, identity, MARKS, TOLD)
    findings = fuzz.run(EXAMPLES) if how == "made up" else fuzz.run_edges()
    assert not findings.wrong, findings.told()
    assert len(findings.reached) >= REACHED[how], sorted(findings.reached)
    # Nothing ended the daemon, and nobody else's team was touched.
    assert instance.json("daemon", "status")["pid"] == daemon
    assert calm(instance) == before


def calm(instance: Instance) -> tuple[object, ...]:
    """What must stay as it was of the team that nothing was asked about."""
    (agent,) = instance.json("ps", "--team", "calm")
    shown = instance.run("logs", "--team", "calm", "calm-one").stdout
    return (*(agent[field] for field in ("pid", "state", "paused", "restarts", "processes", "since")), shown)
