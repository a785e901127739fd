"""`[leases]`, `labels` and `bind` of a `corral.toml`."""

import pytest

from corral.domain import spec
from corral.domain.errors import BadSpecError
from corral.domain.lease_terms import DEFAULT_LEASE_TERMS, LeaseTerms
from corral.domain.spec_fingerprint import differences, fingerprint, split_differences

SEVENTEEN = str([f"l{number}" for number in range(17)])
AGENT = '[team]\nname = "shop"\n[agents.a]\ncommand = ["x"]\n'


def parsed(more: str = "") -> spec.TeamSpec:
    return spec.parse(AGENT + more, "/x/corral.toml")


def problem(more: str) -> tuple[str, str]:
    with pytest.raises(BadSpecError) as caught:
        parsed(more)
    return caught.value.message, caught.value.remedy


def test_without_a_word_it_is_as_ever() -> None:
    team = parsed()
    assert (team.leases, team.agents[0].labels, team.agents[0].bind) == (DEFAULT_LEASE_TERMS, (), "any")
    assert set(fingerprint(team.agents[0], b"s")) == {"command", "workspace", "restart", "prompt"}


def test_durations_are_written_as_people_write_them() -> None:
    team = parsed('[leases]\nsuspect = "1.5m"\nperson = 120\nlock = "1500ms"\n')
    assert team.leases == LeaseTerms(suspect=90.0, person=120.0, lock=1.5)


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ('suspect = "soon"', "is no duration", 'suspect = "1m"'),
        ("suspect = true", "not a boolean", 'suspect = "1m"'),
        ('suspect = "0s"', "out of range", 'from "1s" to "7d"'),
        ("lock = -5", "out of range", "1s"),
        ("lock = inf", "out of range", "1s"),
        ('person = "30d"', "out of range", "7d"),
        ('suspect_delay = "30s"', "no such key", "did you mean 'suspect'?"),
        ("memory_max = 1", "no such key", "it belongs below"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_right(line: str, message: str, remedy: str) -> None:
    said, helps = problem(f"[leases]\n{line}\n")
    assert message in said
    assert remedy in helps


def test_labels_are_a_set_and_change_without_a_restart() -> None:
    agent = parsed('labels = ["python", "gpu", "gpu"]\n').agents[0]
    assert agent.labels == ("gpu", "python")
    differs = differences(fingerprint(parsed().agents[0], b"s"), fingerprint(agent, b"s"))
    assert split_differences(differs) == (("labels",), ())


@pytest.mark.parametrize("labels", ['"python"', "[1]", '[""]', '[" x"]', SEVENTEEN, '["\\n"]'])
def test_what_can_be_no_labels(labels: str) -> None:
    said, _ = problem(f"labels = {labels}\n")
    assert "agents.a.labels" in said


def test_who_is_kept_to_its_ports_needs_a_restart_for_it() -> None:
    agent = parsed('access.bind = "own"\n').agents[0]
    assert agent.bind == "own"
    differs = differences(fingerprint(parsed().agents[0], b"s"), fingerprint(agent, b"s"))
    assert split_differences(differs) == ((), ("bind",))
    assert "did you mean 'own'?" in problem('access.bind = "block"\n')[1]
    assert "must be a string" in problem("access.bind = true\n")[0]
    assert "it belongs below [agents.a.access]" in problem('bind = "own"\n')[1]
