"""In whose name a command asks: one rule for all of them."""

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, Request, document, refusal, table, whole

INSTANCE = "0123456789ab"
#: A command for each way to ask, the path of its request, and the answer.
COMMANDS = {
    "lease": (["lease", "acquire", "x"], "/v1/leases"),
    "lock": (["lock", "x", "--", "true"], "/v1/locks"),
    "port": (["port", "get", "web"], "/v1/ports"),
    "task": (["task", "claim"], "/v1/tasks/claim"),
    "msg": (["msg", "send", "docs", "-m", "x"], "/v1/messages"),
    "merge": (["merge", "submit"], "/v1/merges"),
    "kv": (["kv", "put", "x", "y"], "/v1/kv"),
    "kv of a team": (["kv", "put", "x", "y", "--team", "toys"], "/v1/kv"),
    "pub": (["pub", "x", "y"], "/v1/topics"),
    "task add": (["task", "add", "x"], "/v1/tasks"),
}
HEADER_ALONE = {"kv", "kv of a team", "pub", "task add"}


@pytest.fixture(autouse=True)
def _answering(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are shop/api and toys/api; the current directory is that of shop."""
    for name in ("AGENT", "TEAM", "INSTANCE"):
        monkeypatch.delenv(f"CORRAL_{name}", raising=False)

    def agents(request: Request) -> bytes:
        (agent,), (team,) = request.query["agent"], request.query.get("team", ["shop"])
        if agent != "api":
            return refusal(404, "not_found", f"there is no agent {agent}", "corral ps shows the agents there are")
        return table(f"{team} api running")

    daemon.answer("GET", "/v1/agents", agents)
    daemon.answer("GET", "/v1/health", whole(f'{{"instance":"{INSTANCE}"}}'.encode()))
    for _, path in COMMANDS.values():
        daemon.answer("POST", path, document({"lease": "l1", "token": 1, "port": 1, "task": "t1", "added": True}))
    for verb in ("renew", "release"):
        daemon.answer("POST", f"/v1/leases/l1/{verb}", document({}))


def asked_by(daemon: FakeDaemon, path: str) -> tuple[str, str]:
    """The agent in whose name it was asked, as the request has it: by parameters and by the header."""
    (request,) = [one for one in daemon.requests if one.method == "POST" and one.path == path]
    team, agent = (request.query.get(name, [""])[0] for name in ("team", "agent"))
    named = agent if "/" in agent or not agent else f"{team}/{agent}"
    return named, request.headers.get("x-corral-agent", "")


def set_variables(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"CORRAL_{name}", value)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("variables", "agent"),
    [
        ({}, ""),
        ({"AGENT": ""}, ""),
        ({"TEAM": "shop"}, ""),
        ({"AGENT": "api"}, "shop/api"),
        ({"AGENT": "toys/api"}, "toys/api"),
        ({"AGENT": "toys/api", "TEAM": "toys"}, "toys/api"),
        ({"AGENT": "api", "TEAM": "toys"}, "toys/api"),
        ({"AGENT": "api", "INSTANCE": INSTANCE}, "shop/api"),
        ({"AGENT": "api", "TEAM": "toys", "INSTANCE": INSTANCE}, "toys/api"),
        ({"AGENT": "api", "TEAM": "shop", "INSTANCE": "ba9876543210"}, ""),
        ({"AGENT": "gone", "TEAM": "shop", "INSTANCE": "ba9876543210"}, ""),
    ],
)
def test_all_commands_ask_in_the_same_name(
    corral: Corral,
    daemon: FakeDaemon,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    variables: dict[str, str],
    agent: str,
) -> None:
    set_variables(monkeypatch, variables)
    words, path = COMMANDS[command]
    outcome = corral(*words)
    if command == "port" and not agent:
        assert (outcome.code, "which agent's port?" in outcome.err) == (2, True)
        return
    assert outcome.code == 0
    named, header = asked_by(daemon, path)
    assert header == agent
    if command not in HEADER_ALONE:
        assert named == agent


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"AGENT": "gone"}, 3),
        ({"AGENT": "shop/gone"}, 3),
        ({"AGENT": "gone", "TEAM": "shop", "INSTANCE": INSTANCE}, 3),
        ({"AGENT": "a/b/c"}, 2),
        ({"AGENT": "shop/api", "TEAM": "toys"}, 2),
    ],
)
def test_an_agent_that_is_none_is_told_and_nothing_is_done(
    corral: Corral,
    daemon: FakeDaemon,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    variables: dict[str, str],
    code: int,
) -> None:
    set_variables(monkeypatch, variables)
    outcome = corral(*COMMANDS[command][0], "--json") if command != "lock" else corral(*COMMANDS[command][0])
    assert outcome.code == code
    assert "CORRAL_AGENT" in outcome.err
    assert "unset" in outcome.err
    assert [one for one in daemon.requests if one.method == "POST"] == []


def test_one_that_is_named_goes_before_it(corral: Corral, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(monkeypatch, {"AGENT": "gone"})
    assert corral("lease", "acquire", "x", "--agent", "shop/docs").code == 0
    assert asked_by(daemon, "/v1/leases")[0] == "shop/docs"
