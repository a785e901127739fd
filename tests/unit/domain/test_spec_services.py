"""`kind`, `ready` and `after` of an agent's table, and who may start by `[supervision]`."""

import pytest

from corral.domain.admission_rules import AdmissionRules
from corral.domain.errors import BadSpecError
from corral.domain.ready_rules import ReadyRule, port_number
from corral.domain.spec import fingerprint, parse
from corral.domain.spec_model import AgentSpec, TeamSpec

_TEAM = '[team]\nname = "shop"\n'
_SALT = b"salt"


def read(text: str) -> TeamSpec:
    return parse(f"{_TEAM}{text}", "/x/corral.toml")


def agent(text: str) -> AgentSpec:
    return read(f'[agents.a]\ncommand = ["x"]\n{text}').agents[0]


def test_without_them_it_is_an_agent_that_waits_for_nobody() -> None:
    plain = agent("")
    assert (plain.kind, plain.ready, plain.after) == ("agent", ReadyRule(), ())
    assert not {"kind", "ready", "after"} & fingerprint(plain, _SALT).keys(), "an upgrade changes no agent"
    assert read('[agents.a]\ncommand = ["x"]').supervision.admission == AdmissionRules()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('ports = ["web"]\nready = { port = "web" }', ReadyRule(port="web")),
        ('ready = { port = "PORT" }', ReadyRule(port="PORT")),
        ("ready = { port = 5432 }", ReadyRule(port="5432")),
        ('ready = { log = "^ready" }', ReadyRule(log="^ready")),
        ('ready = { command = "pg_isready" }', ReadyRule(command="pg_isready")),
    ],
)
def test_what_has_to_be_seen_of_a_service(text: str, rule: ReadyRule) -> None:
    found = agent(f'kind = "service"\n{text}')
    assert (found.kind, found.ready) == ("service", rule)
    assert {"kind", "ready"} <= fingerprint(found, _SALT).keys()


def test_the_number_of_a_port_is_in_the_environment_of_its_agent() -> None:
    environment = {"PORT": "20000", "CORRAL_PORT_WEB_UI": "20001", "CORRAL_PORT_80": "20002"}
    assert port_number("web-ui", environment) == 20001
    assert port_number("PORT", environment) == 20000
    assert port_number("5432", environment) == 5432
    assert port_number("80", environment) == 20002, "a name of its own wins"
    assert port_number("gone", environment) is None


def test_a_table_stands_for_all_its_agents() -> None:
    team = read(
        '[agents.db]\ncommand = ["x"]\ncount = 2\n[agents.a]\ncommand = ["x"]\nafter = ["db", "db-1"]\n'
        '[agents.b]\ncommand = ["x"]\nafter = ["db-2"]\n'
    )
    assert {one.name: one.after for one in team.agents if one.after} == {"a": ("db-1", "db-2"), "b": ("db-2",)}


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ('[agents.a]\ncommand = "x"\nafter = ["bb"]\n[agents.b]\ncommand = "x"', 5, "there is no agent bb", "'b'?"),
        ('[agents.a]\ncommand = "x"\nafter = ["a"]', 5, "a would start after itself", "leave it out"),
        (
            '[agents.a]\ncommand = "x"\nafter = ["b"]\n[agents.b]\ncommand = "x"\nafter = ["c"]\n'
            '[agents.c]\ncommand = "x"\nafter = ["b"]',
            8,
            "nobody could start: b, which is after c, which is after b",
            "leave one of them out",
        ),
        ('[agents.a]\ncommand = "x"\nafter = "b"', 5, "must be an array", 'after = ["db"]'),
        ('[agents.a]\ncommand = "x"\nafter = [1]', 5, "name 1 must be a string", 'after = ["db"]'),
        ('[agents.a]\ncommand = "x"\nkind = "database"', 5, "is nothing that a team runs", "'service'?"),
        ('[agents.a]\ncommand = "x"\nkind = "service"\nprompt = "go"', 6, "has no prompt", "leave it out"),
        ('[agents.a]\ncommand = "x"\nready = { log = "(" }', 5, "no regular expression", "backslash"),
        ('[agents.a]\ncommand = "x"\nready = {}', 5, "one of port, log and command", "port ="),
        ('[agents.a]\ncommand = "x"\nready = { log = "x", port = 1 }', 5, "only one", "port ="),
        ('[agents.a]\ncommand = "x"\nready = { port = "web" }', 5, "no name from its ports", 'ports = ["web"]'),
        ('[agents.a]\ncommand = "x"\nready = { port = 70000 }', 5, "out of range", "a name from ports"),
        ('[agents.a]\ncommand = "x"\nready = { url = "http://x" }', 5, "one of port, log and command", "port ="),
        ('[agents.a]\ncommand = "x"\ndepends_on = ["b"]', 5, "there is no such key", "'after'?"),
        ('[agents.a]\ncommand = "x"\n[supervision]\nmax_agents = -1', 6, "out of range", "max_agents"),
        ('[agents.a]\ncommand = "x"\n[supervision]\nmemory_pressure = 101', 6, "out of range", "100"),
        ('max_agents = 2\n[agents.a]\ncommand = "x"', 3, "there is no such key", "below [supervision]"),
    ],
)
def test_what_it_says_to_what_cannot_be(text: str, line: int, message: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        read(text)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    found = [one for one in problems if one["line"] == line and message in one["message"] and remedy in one["remedy"]]
    assert found, problems


def test_who_may_start() -> None:
    said = read(
        '[agents.a]\ncommand = "x"\n[supervision]\nmax_agents = 3\nstart_at_once = 2\nmemory_pressure = 0\n'
        "memory_headroom = 25\n"
    )
    assert said.supervision.admission == AdmissionRules(
        max_agents=3, start_at_once=2, memory_pressure=0, memory_headroom=25
    )
