"""What is said about limits that are wrong by themselves, or make no sense together."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.limits import LIMIT_NAMES
from corral.domain.spec import parse
from corral.domain.spec_limits import ALIASES

FILE = "/home/ann/shop/corral.toml"


def problems_of(*, team: str = "", defaults: str = "", agent: str = "", more: str = "") -> list[dict[str, object]]:
    """What is said; the agent's own lines begin on line 7, those of the other two tables on lines 3 and 5."""
    text = f'[team]\nname = "shop"\n{team}\n[defaults]\n{defaults}\n[agents.builder]\n{agent}\ncommand = ["x"]\n{more}'
    with pytest.raises(BadSpecError) as caught:
        parse(text, FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    return problems


def told(**tables: str) -> tuple[object, object, str, str]:
    (problem,) = problems_of(**tables)
    assert problem["file"] == FILE
    return problem["line"], problem["key"], str(problem["message"]), str(problem["remedy"])


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("cpu_weight = 0", "out of range", "from 1 to 10000"),
        ("cpu_weight = 10001", "out of range", "100 is the usual"),
        ("io_weight = -5", "out of range", "such as io_weight = 50"),
        ('io_weight = "50"', "an integer, not a string", "io_weight = 50"),
        ("cpu_weight = 1.5", "an integer, not a float", "cpu_weight = 200"),
        ("cpu_weight = true", "an integer, not a boolean", "cpu_weight = 200"),
        ('cpu_weight = "infinity"', "a weight is a share", "cpu_weight = 100"),
        ("cpu_quota = 150", "a percent sign, not an integer", 'cpu_quota = "150%"'),
        ("cpu_quota = 2", "a percent sign, not an integer", 'for 2 processors write cpu_quota = "200%"'),
        ("cpu_quota = 1", "a percent sign, not an integer", 'for 1 processor write cpu_quota = "100%"'),
        ("cpu_quota = 1.5", "a percent sign, not a float", 'for 1.5 processors write cpu_quota = "150%"'),
        ("cpu_quota = 0", "a percent sign, not an integer", '"1%" or more'),
        ("cpu_quota = 0.0001", "a percent sign, not a float", 'cpu_quota = "150%"'),
        ("cpu_quota = nan", "a percent sign, not a float", 'cpu_quota = "150%"'),
        ("cpu_quota = true", "a string, not a boolean", 'cpu_quota = "150%"'),
        ('cpu_quota = ["150%"]', "a string, not an array", 'cpu_quota = "150%"'),
        ('cpu_quota = "1.5"', "no whole number of percent", 'cpu_quota = "150%"'),
        ('cpu_quota = "12.5%"', "no whole number of percent", 'cpu_quota = "150%"'),
        ('cpu_quota = "-5%"', "no whole number of percent", 'cpu_quota = "150%"'),
        ('cpu_quota = "0%"', "nothing could ever run", '"1%" or more'),
        ('cpu_quota = "1000001%"', "more than any host has", '"infinity"'),
        ("memory_max = 512", "no program lives with this little", 'did you mean "512M"?'),
        ('memory_max = "3.9M"', "no program lives with this little", 'At least "4M": the shell'),
        ("memory_high = 0", "no program lives with this little", 'At least "4M"'),
        ("memory_high = -7", "no program lives with this little", 'At least "4M"'),
        ('memory_max = "512"', "is no size", 'lacks its unit: did you mean memory_max = "512M"?'),
        ('memory_max = "2GB"', "is no size", 'did you mean memory_max = "2G"? The units are K, M, G and T'),
        ('memory_high = "512 mb"', "is no size", 'did you mean memory_high = "512M"?'),
        ('memory_max = "50%"', "is no size", 'memory_max = "2G"'),
        ('memory_max = ""', "is no size", 'memory_max = "2G"'),
        ("memory_max = 1.5", "a string or a number of bytes, not a float", 'memory_max = "2G"'),
        ("memory_max = 2020-01-01", "not a date or time", 'memory_max = "2G"'),
        ('memory_max = "8193T"', "more than any host has", '"infinity"'),
        ("tasks_max = 3", "so few processes and threads", "at least 4: the shell that starts an agent"),
        ("tasks_max = 0", "so few processes and threads", "at least 4"),
        ("tasks_max = 4194305", "no room for so many", "at most 4194304"),
        ('tasks_max = "100"', "an integer, not a string", "tasks_max = 512"),
        ("tasks_max = 1e3", "an integer, not a float", "tasks_max = 512"),
        ("tasks_max = -1", "not how no limit is written", 'tasks_max = "infinity"'),
        ('memory_max = "unlimited"', "not how no limit is written", 'memory_max = "infinity"'),
        ('memory_max = "Infinity"', "not how no limit is written", 'memory_max = "infinity"'),
        ("cpu_quota = inf", "not how no limit is written", 'cpu_quota = "infinity"'),
    ],
)
@pytest.mark.parametrize(
    ("table", "path", "at"), [("team", "team", 3), ("defaults", "defaults", 5), ("agent", "agents.builder", 7)]
)
def test_a_wrong_value(table: str, path: str, at: int, line: str, message: str, remedy: str) -> None:
    where, key, what, right = told(**{table: line})
    assert (where, key) == (at, f"{path}.{line.split()[0]}")
    assert message in what
    assert remedy in right


@pytest.mark.parametrize("value", ["9" * 4000, '"' + "9" * 4000 + 'G"', '"' + "9" * 4000 + '%"', "1e400", "-1e400"])
@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_a_value_without_end_gets_a_short_answer(name: str, value: str) -> None:
    _, key, message, remedy = told(agent=f"{name} = {value}")
    assert key == f"agents.builder.{name}"
    assert len(message + remedy) < 300


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
@pytest.mark.parametrize("table", ["team", "defaults", "agent"])
def test_the_words_of_other_tools(table: str, alias: str, name: str) -> None:
    assert told(**{table: f"{alias} = 1"})[2:] == ("there is no such key", f"did you mean '{name}'?")


def test_the_words_of_systemd() -> None:
    assert told(agent='MemoryMax = "1G"')[3] == "did you mean 'memory_max'?"


@pytest.mark.parametrize(
    ("text", "line", "key", "remedy"),
    [
        (
            'memory_max = "1G"\n[team]\nname = "a"\n',
            1,
            "memory_max",
            "below [team], [defaults] or an [agents.NAME] table",
        ),
        ('[team]\nname = "a"\n[containment]\ntasks_max = 9\n', 4, "containment.tasks_max", "[team], [defaults] or"),
        ('[team]\nname = "a"\n[defaults]\ncommand = "x"\n', 4, "defaults.command", "below an [agents.NAME] table"),
        ('[team]\nname = "a"\n[defaults]\nrepo = "."\n', 4, "defaults.repo", "below [team]"),
        ('[team]\nname = "a"\n[defaults]\ncolour = 1\n', 4, "defaults.colour", "defaults takes cpu_weight, cpu_quota"),
        ('[team]\nname = "a"\n[limits]\ntasks_max = 9\n', 3, "limits", "did you mean 'defaults'?"),
        ('defaults = "2G"\n[team]\nname = "a"\n', 1, "defaults", '[defaults] with memory_max = "2G"'),
        ('[team]\nname = "a"\n[agents]\ntasks_max = 9\n', 4, "agents.tasks_max", "below [defaults] for every agent"),
    ],
)
def test_limits_in_the_wrong_place(text: str, line: int, key: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        parse(f'{text}[agents.b]\ncommand = "x"\n', FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    (problem,) = problems
    assert (problem["line"], problem["key"]) == (line, key)
    assert remedy in problem["remedy"]


def test_an_agent_may_bear_the_name_of_no_limit_by_mistake() -> None:
    with pytest.raises(BadSpecError, match="not a valid name for an agent"):
        parse('[team]\nname = "a"\n[agents.memory_max]\ncommand = "x"\n', FILE)


@pytest.mark.parametrize(("table", "path"), [("team", "team"), ("defaults", "defaults"), ("agent", "agents.builder")])
def test_memory_high_above_memory_max(table: str, path: str) -> None:
    _, key, message, remedy = told(**{table: 'memory_high = "2G"\nmemory_max = "1G"'})
    assert key == f"{path}.memory_high"
    assert message == "this is more than memory_max, which is 1G"
    assert "choose one below it" in remedy


def test_a_memory_max_below_the_memory_high_of_the_defaults() -> None:
    line, key, message, remedy = told(defaults='memory_high = "2G"', agent='memory_max = "1G"')
    assert (line, key) == (7, "agents.builder.memory_max")
    assert message == "this is less than the memory_high of [defaults], which is 2G"
    assert 'memory_high = "infinity"' in remedy


def test_a_memory_high_above_the_memory_max_of_the_defaults() -> None:
    line, key, message, remedy = told(defaults='memory_max = "1G"', agent='memory_high = "2G"')
    assert (line, key) == (7, "agents.builder.memory_high")
    assert message == "this is more than the memory_max of [defaults], which is 1G"
    assert 'memory_max = "infinity"' in remedy


@pytest.mark.parametrize(
    ("name", "of_team", "of_agent", "shown"),
    [
        ("memory_max", '"1G"', '"1025M"', "1G"),
        ("tasks_max", "64", "65", "64"),
        ("cpu_quota", '"200%"', '"201%"', "200%"),
    ],
)
@pytest.mark.parametrize(("table", "path", "at"), [("defaults", "defaults", 5), ("agent", "agents.builder", 7)])
def test_an_agent_above_its_team(
    table: str, path: str, at: int, name: str, of_team: str, of_agent: str, shown: str
) -> None:
    # Three agents take the default, and it is told once.
    more = '[agents.b]\ncommand = "x"\ncount = 2\n'
    line, key, message, remedy = told(team=f"{name} = {of_team}", more=more, **{table: f"{name} = {of_agent}"})
    assert (line, key) == (at, f"{path}.{name}")
    assert message == f"this is more than the whole team may have, {shown}"
    assert remedy == f"at most {name} = {of_team}, or raise it in [team]"


def test_a_memory_high_that_the_team_never_reaches() -> None:
    _, key, message, remedy = told(team='memory_max = "1G"', agent='memory_high = "2G"')
    assert key == "agents.builder.memory_high"
    assert message == "this is more than the whole team may have, 1G"
    assert "raise memory_max in [team]" in remedy


def test_a_table_that_is_above_its_team_twice_is_told_once() -> None:
    key = told(team='memory_max = "1G"', agent='memory_high = "2G"\nmemory_max = "3G"')[1]
    assert key == "agents.builder.memory_max"


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("tasks_max = 39", "10 agents cannot run with 39 together", "at least tasks_max = 40"),
        ('memory_max = "39M"', "10 agents cannot run with 39M together", 'at least memory_max = "40M"'),
    ],
)
def test_a_team_without_room_for_its_agents(line: str, message: str, remedy: str) -> None:
    at, _, what, right = told(team=line, agent="count = 10")
    assert (at, what) == (3, message)
    assert remedy in right


def test_one_mistake_makes_no_others() -> None:
    assert told(team='memory_max = "1GB"', agent='memory_max = "2G"')[1] == "team.memory_max"
    assert told(defaults='memory_high = "1GB"', agent='memory_max = "5M"')[1] == "defaults.memory_high"
    assert told(defaults='memory_max = "1G"', agent='memory_max = "4GB"\nmemory_high = "2G"')[1:2] == (
        "agents.builder.memory_max",
    )


def test_all_mistakes_are_told_at_once() -> None:
    problems = problems_of(
        team='memory_max = "1G"', defaults="cpu_quota = 2", agent='memory_max = "2G"\ntasks_max = 1\nmem = "1G"'
    )
    assert [(problem["line"], problem["key"]) for problem in problems] == [
        (5, "defaults.cpu_quota"),
        (7, "agents.builder.memory_max"),
        (8, "agents.builder.tasks_max"),
        (9, "agents.builder.mem"),
    ]
