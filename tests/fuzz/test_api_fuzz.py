"""Every operation of the API with made-up requests, valid and not, on a real daemon with real agents."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.run import Fuzz
from tests.fuzz.taming import Ground
from tests.fuzz.wire import Identity, over_socket
from tests.fuzz.wire import ask as asked
from tests.support.instance import Instance

pytestmark = [pytest.mark.tmux, pytest.mark.slow]

#: In nobody's answer: what is given to an agent's environment stays private.
SECRET = "a-secret-of-the-fuzz-5f1d"
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
    instance.spec(SPEC.format(team="prey", secret=SECRET), repository)
    instance.run("up", cwd=repository)
    identity = Identity("owner", over_socket(os.path.join(instance.runtime, "daemon.sock")))

    def ask(method: str, target: str, body: object = None) -> Any:
        sent = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        heard = asked(identity, method, target, {}, sent)
        assert heard.status == 200, heard
        return json.loads(heard.body)

    whose = "team=prey&agent=prey-a"
    ask("POST", f"/v1/exec?{whose}", {"argv": ["cat"], "stdin": True, "background": True, "process_id": "p0123456789"})
    ask("POST", f"/v1/exec?{whose}", {"command": "echo hello", "process_id": "p9876543210"})
    ask("POST", "/v1/kv?team=prey", {"puts": {"a/key": "value"}})
    ask("POST", "/v1/topics?team=prey&topic=news", b"something")
    lease = ask("POST", f"/v1/leases?{whose}", {"patterns": ["src/**"]})
    task = ask("POST", "/v1/tasks?team=prey", {"title": "a task"})
    message = ask("POST", f"/v1/messages?{whose}", {"text": "hello", "to": ["prey-b"]})
    recordings = ask("GET", f"/v1/recordings?{whose}")
    document = ask("GET", "/v1/openapi.json")
    known = {
        "process": ["p0123456789", "p9876543210"],
        "process_id": ["p0123456789", "p9876543210", ""],
        "key": ["a/key"],
        "prefix": ["a/"],
        "topic": ["news"],
        "lease": [lease["lease"]],
        "task": [task["task"]],
        "message": [message["message"]],
        "merge": ["1"],
        "entry": ["1"],
        "recording": [str(recording.get("recording", recording.get("id"))) for recording in recordings],
        "to": ["prey-a", "prey-b", "all", "@root", "role:prey-a"],
    }
    return Ground("prey", ["prey-a", "prey-b"], str(repository), known), identity, document


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
    fuzz = Fuzz(document, ground, identity, [SECRET])
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
