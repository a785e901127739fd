"""What limits in a good `corral.toml` mean: on an agent, on the team, and as defaults."""

import pytest

from corral.domain.limits import LIMIT_NAMES, NO_LIMITS, Limits
from corral.domain.limits_text import written_limit
from corral.domain.spec import TeamSpec, parse

M, G = 1024**2, 1024**3

ALL = """
cpu_weight = 200
cpu_quota = "150%"
memory_high = "1.5G"
memory_max = "2G"
tasks_max = 512
io_weight = 50
"""
ALL_LIMITS = Limits(
    cpu_weight=200, cpu_quota=150, memory_high=3 * G // 2, memory_max=2 * G, tasks_max=512, io_weight=50
)


def team_of(*, team: str = "", defaults: str = "", agent: str = "", more: str = "") -> TeamSpec:
    text = f'[team]\nname = "shop"\n{team}\n[defaults]\n{defaults}\n[agents.builder]\ncommand = ["x"]\n{agent}\n{more}'
    return parse(text, "/home/ann/shop/corral.toml")


def agent_limits(*, team: str = "", defaults: str = "", agent: str = "") -> Limits:
    return team_of(team=team, defaults=defaults, agent=agent).agents[0].limits


def test_without_a_word_nothing_is_limited() -> None:
    team = parse('[team]\nname = "shop"\n[agents.builder]\ncommand = ["x"]\n', "/home/ann/shop/corral.toml")
    assert (team.limits, team.agents[0].limits) == (NO_LIMITS, NO_LIMITS)


def test_on_an_agent() -> None:
    team = team_of(agent=ALL, more='[agents.other]\ncommand = ["x"]\n')
    assert [agent.limits for agent in team.agents] == [ALL_LIMITS, NO_LIMITS]
    assert team.limits == NO_LIMITS


def test_on_the_team() -> None:
    team = team_of(team=ALL)
    assert (team.limits, team.agents[0].limits) == (ALL_LIMITS, NO_LIMITS)


def test_each_agent_of_a_table_has_them() -> None:
    team = team_of(agent="count = 3\ntasks_max = 64")
    assert [agent.limits for agent in team.agents] == [Limits(tasks_max=64)] * 3


def test_defaults_are_for_agents_and_not_for_the_team() -> None:
    team = team_of(defaults=ALL)
    assert (team.limits, team.agents[0].limits) == (NO_LIMITS, ALL_LIMITS)


def test_what_an_agent_says_goes_before_the_default() -> None:
    assert agent_limits(defaults='memory_max = "1G"\ntasks_max = 64', agent='memory_max = "3G"') == Limits(
        memory_max=3 * G, tasks_max=64
    )


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_an_agent_can_lift_each_default(name: str) -> None:
    lifted = agent_limits(defaults=ALL, agent=written_limit(name, None))
    assert getattr(lifted, name) is None
    assert sum(getattr(lifted, other) is None for other in LIMIT_NAMES) == 1


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_to_lift_what_is_not_set_says_nothing(name: str) -> None:
    assert agent_limits(agent=written_limit(name, None)) == NO_LIMITS
    assert team_of(team=written_limit(name, None)).limits == NO_LIMITS


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ('memory_max = "512M"', Limits(memory_max=512 * M)),
        ("memory_max = 536870912", Limits(memory_max=512 * M)),
        ('memory_max = "2GiB"', Limits(memory_max=2 * G)),
        ('memory_max = "4M"', Limits(memory_max=4 * M)),
        ('memory_high = "8192T"', Limits(memory_high=2**53)),
        ('cpu_quota = "1%"', Limits(cpu_quota=1)),
        ('cpu_quota = "1000000%"', Limits(cpu_quota=1_000_000)),
        ("cpu_weight = 1", Limits(cpu_weight=1)),
        ("io_weight = 10000", Limits(io_weight=10000)),
        # The usual weight, which an agent has anyway.
        ("cpu_weight = 100", NO_LIMITS),
        ("tasks_max = 4", Limits(tasks_max=4)),
        ("tasks_max = 4194304", Limits(tasks_max=4194304)),
        ('memory_high = "1G"\nmemory_max = "1G"', Limits(memory_high=G, memory_max=G)),
    ],
)
def test_values(line: str, limits: Limits) -> None:
    assert agent_limits(agent=line) == limits


def test_an_agent_may_have_as_much_as_the_team_and_a_larger_weight() -> None:
    same = 'cpu_quota = "150%"\nmemory_max = "2G"\ntasks_max = 512\n'
    assert agent_limits(team=same + "cpu_weight = 50", agent=same + "cpu_weight = 500")


def test_agents_together_may_be_promised_more_than_the_team_has() -> None:
    team = team_of(team='memory_max = "3G"', agent='count = 4\nmemory_max = "2G"')
    assert {agent.limits.memory_max for agent in team.agents} == {2 * G}


def test_an_agent_without_a_limit_of_its_own_fits_into_any_team() -> None:
    assert (
        agent_limits(team='memory_max = "1G"', defaults='memory_max = "1G"', agent='memory_max = "infinity"')
        == NO_LIMITS
    )
