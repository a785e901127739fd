"""The keys that say how an agent is kept alive, and what happens to a team that is alone."""

import pytest

from corral.domain.attendance import Unattended
from corral.domain.errors import BadSpecError
from corral.domain.restarts import DEFAULT_RESTART_LIMITS, RestartLimits
from corral.domain.spec import AgentSpec, differences, fingerprint, parse, split_differences
from corral.domain.spec_durations import roughly
from corral.domain.upkeep import DEFAULT_NUDGE, DEFAULT_UPKEEP, Check

_TEAM = '[team]\nname = "shop"\n'
_AGENT = '[agents.a]\ncommand = ["x"]\n'


def read(text: str) -> AgentSpec:
    return parse(f"{_TEAM}{_AGENT}{text}", "/x/corral.toml").agents[0]


def unattended(text: str) -> Unattended | None:
    return parse(f"{_TEAM}{_AGENT}[supervision]\n{text}", "/x/corral.toml").supervision.unattended


def test_without_any_of_them_nothing_is_looked_at() -> None:
    assert read("").upkeep == DEFAULT_UPKEEP
    assert (DEFAULT_UPKEEP.check, DEFAULT_UPKEEP.stuck_after, DEFAULT_UPKEEP.lifetime) == (None, None, None)


def test_restart_is_a_word_or_a_table() -> None:
    assert read('restart = "always"').restart == "always"
    assert read('restart = "always"').upkeep.restarts == DEFAULT_RESTART_LIMITS
    said = read('restart = { policy = "on-failure", attempts = 2, steady = "1m", delay = "50ms", longest = "2s" }')
    assert said.restart == "on-failure"
    assert said.upkeep.restarts == RestartLimits(attempts=2, steady=60.0, delay=0.05, longest=2.0)


def test_check_is_a_command_or_a_table() -> None:
    assert read('check = "true"').upkeep.check == Check(command="true")
    said = read('start_timeout = "5m"\ncheck = { command = "c", every = "1s", timeout = "2s", failures = 4 }')
    assert said.upkeep.check == Check(command="c", every=1.0, timeout=2.0, failures=4, start_timeout=300.0)


@pytest.mark.parametrize("sign", ['ready = { log = "up" }', 'prompt = "hello"', 'check = "true"'])
def test_a_start_timeout_goes_with_whatever_says_that_it_has_started(sign: str) -> None:
    assert read(f'start_timeout = "5m"\n{sign}').upkeep.start_timeout == 300.0
    assert read(sign).upkeep.start_timeout is None


def test_the_others_are_read() -> None:
    upkeep = read('stuck_after = "20m"\nnudge = " Hm? "\nlifetime = "8h"').upkeep
    assert (upkeep.stuck_after, upkeep.nudge, upkeep.lifetime) == (1200.0, "Hm?", 28800.0)
    assert read('stuck_after = "20m"').upkeep.nudge == DEFAULT_NUDGE


def test_unattended_is_read() -> None:
    assert unattended("") is None
    assert unattended('unattended = { after = "2h" }') == Unattended(after=7200.0, then="pause")
    assert unattended('unattended = { after = "2h", then = "stop" }') == Unattended(after=7200.0, then="stop")
    said = unattended('unattended = { after = "2h", then = "stop", notice = "1h" }')
    assert said == Unattended(after=7200.0, then="stop", said_notice=3600.0)
    assert said.notice == 3600.0


def test_all_but_the_policy_can_be_changed_on_an_agent_that_runs() -> None:
    old = fingerprint(read(""), b"s")
    said = 'check = "true"\nstart_timeout = "5m"\nstuck_after = "20m"\nnudge = "x"\nlifetime = "8h"'
    new = fingerprint(read(said), b"s")
    differs = differences(old, new)
    assert split_differences(differs) == (("check", "start_timeout", "stuck_after", "nudge", "lifetime"), ())
    limits = fingerprint(read('restart = { policy = "never", attempts = 2 }'), b"s")
    assert split_differences(differences(old, limits)) == ((), ("restart",))


def test_an_upgrade_changes_no_agent() -> None:
    assert set(fingerprint(read(""), b"s")) == {"command", "workspace", "restart", "prompt"}
    assert fingerprint(read('restart = { policy = "never" }'), b"s") == fingerprint(read(""), b"s")


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ('restart = "sometimes"', "is no restart policy", "never, on-failure or always"),
        ("restart = { attempts = 2 }", "policy: this is missing", 'policy = "on-failure"'),
        ('restart = { policy = "always", attempts = 0 }', "out of range", "1 to 1000000"),
        ('restart = { policy = "always", within = "1m" }', "there is no such key", "did you mean 'steady'?"),
        ('restart = { policy = "always", delay = "5m" }', "longer than longest, which is 1m", "a longer longest"),
        ("check = true", "must be a string or a table", "curl"),
        ('check = " "', "this is empty", "a command for a shell"),
        ('check = { every = "1s" }', "command: this is missing", "make check"),
        ('check = { command = "x", interval = "1s" }', "there is no such key", "did you mean 'every'?"),
        ('start_timeout = "1m"', "nobody can tell whether it has started", "add ready = { port"),
        ('nudge = "x"', "nobody looks whether this agent is stuck", "stuck_after"),
        ('stuck_after = "soon"', "is no duration", '"20m"'),
        ('lifetime = "10ms"', "out of range", '"1s"'),
        ('max_lifetime = "1h"', "there is no such key", "did you mean 'lifetime'?"),
    ],
)
def test_a_mistake_of_an_agent_is_told_with_what_would_be_right(text: str, message: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        read(text)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ('unattended = "2h"', "must be a table", "unattended = {"),
        ('unattended = { then = "pause" }', "after: this is missing", 'after = "2h"'),
        ('unattended = { after = "2h", then = "kill" }', '"kill" is nothing that can be done', "did you mean 'stop'?"),
        ('unattended = { after = "1ms" }', "out of range", '"1s"'),
        ('unattended = { after = "1m", notice = "1h" }', "longer than after, which is 1m", "a shorter notice"),
        ('orphan = "2h"', "there is no such key", "did you mean 'unattended'?"),
    ],
)
def test_a_mistake_of_the_table_is_told_with_what_would_be_right(text: str, message: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        unattended(text)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1s"), (59.6, "60s"), (119.0, "119s"), (600.0, "10m"), (7200.0, "2h")]
)
def test_a_duration_is_told_as_a_person_says_it(seconds: float, words: str) -> None:
    assert roughly(seconds) == words
