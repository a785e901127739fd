"""Ports in a `corral.toml`: what `[ports]` and the `ports` of an agent mean, and what is said if they are wrong."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.port_blocks import DEFAULT_POOL, Pool
from corral.domain.spec import differences, fingerprint, parse

FILE = "/home/ann/shop/corral.toml"


def text(table: str = "", agent: str = "") -> str:
    return f'[team]\nname = "shop"\n[ports]\n{table}\n[agents.builder]\ncommand = ["x"]\n{agent}\n'


def told(table: str = "", agent: str = "") -> tuple[object, object, str, str]:
    """Line, key, message and remedy of the one problem of the file."""
    with pytest.raises(BadSpecError) as caught:
        parse(text(table, agent), FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    (problem,) = problems
    return problem["line"], problem["key"], str(problem["message"]), str(problem["remedy"])


def names_of(agent: str) -> tuple[str, ...]:
    (builder,) = parse(text(agent=agent), FILE).agents
    return builder.ports


@pytest.mark.parametrize(
    ("table", "pool"),
    [
        ("", DEFAULT_POOL),
        ('range = "20000-29999"\nblock = 10', Pool((20000, 29999), 10)),
        ('range = " 1024 - 65535 "', Pool((1024, 65535), 10)),
        ("block = 2", Pool(None, 2)),
        ('range = "30000-30009"', Pool((30000, 30009), 10)),
    ],
)
def test_what_the_table_means(table: str, pool: Pool) -> None:
    assert parse(text(table), FILE).ports == pool


def test_names_stay_in_their_order() -> None:
    assert names_of('ports = ["web", "api-2", "a"]') == ("web", "api-2", "a")
    assert names_of("ports = []") == ()
    assert names_of("") == ()


@pytest.mark.parametrize(
    ("table", "key", "message", "remedy"),
    [
        ('range = "20000"', "ports.range", "no range of ports", "the first and the last"),
        ('range = "a-b"', "ports.range", "no range of ports", "20000-29999"),
        ('range = "29999-20000"', "ports.range", "out of range", "the lower one first"),
        ('range = "80-9000"', "ports.range", "out of range", "from 1024 on"),
        ('range = "20000-65536"', "ports.range", "out of range", "up to 65535"),
        ('range = "٢٠٠٠٠-٢٩٩٩٩"', "ports.range", "no range of ports", "20000-29999"),
        ("range = 20000", "ports.range", "must be a string", 'range = "20000-29999"'),
        ('range = "20000-20008"', "ports.range", "no room for one block, which is 10 ports", "20000-29999"),
        ("block = 1", "ports.block", "out of range", "from 2 to 1000"),
        ("block = 1001", "ports.block", "out of range", "from 2 to 1000"),
        ('block = "10"', "ports.block", "must be an integer", "block = 10"),
        ("size = 10", "ports.size", "no such key", "did you mean 'block'?"),
        ('command = "x"', "ports.command", "no such key", "it belongs below an [agents.NAME] table"),
    ],
)
def test_mistakes_of_the_table(table: str, key: str, message: str, remedy: str) -> None:
    line, where, what, helps = told(table)
    assert (line, where) == (4, key)
    assert message in what
    assert remedy in helps


@pytest.mark.parametrize(
    ("agent", "message", "remedy"),
    [
        ("ports = [3000]", "name 1 must be a string, not an integer", "corral chooses the numbers"),
        ('ports = "web"', "must be an array", 'ports = ["web", "api"]'),
        ('ports = ["web", "Web UI"]', "name 2 is not a valid name for a port", "did you mean 'web-ui'?"),
        ('ports = ["web", "web"]', "web is declared twice", "leave one of them out"),
        (f"ports = {[f'p{n}' for n in range(10)]}", "10 names, and a block of 10 ports has room for 9", "block = 11"),
    ],
)
def test_mistakes_of_an_agent(agent: str, message: str, remedy: str) -> None:
    line, where, what, helps = told(agent=agent)
    assert (line, where) == (7, "agents.builder.ports")
    assert message in what
    assert remedy in helps


def test_keys_of_the_table_elsewhere_are_shown_the_way() -> None:
    _, where, _, remedy = told(agent="block = 20")
    assert (where, remedy) == ("agents.builder.block", "it belongs below [ports]")


def test_other_names_need_a_restart_and_none_are_as_before() -> None:
    def prints(agent: str) -> dict[str, str]:
        (builder,) = parse(text(agent=agent), FILE).agents
        return fingerprint(builder, b"salt")

    assert "ports" not in prints("")
    assert differences(prints('ports = ["web"]'), prints('ports = ["web", "api"]')) == ["ports"]
