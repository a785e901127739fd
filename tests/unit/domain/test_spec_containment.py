"""The `[containment]` table of a `corral.toml`."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.spec import DEFAULT_SYSTEMD, SYSTEMD, parse

FILE = "/home/ann/shop/corral.toml"


def text(containment: str) -> str:
    return f'[team]\nname = "shop"\n{containment}\n[agents.builder]\ncommand = ["x"]\n'


@pytest.mark.parametrize("containment", ["", "[containment]"])
def test_systemd_is_used_where_it_can_be_reached(containment: str) -> None:
    assert parse(text(containment), FILE).systemd == DEFAULT_SYSTEMD == "auto"


@pytest.mark.parametrize("systemd", SYSTEMD)
def test_each_way(systemd: str) -> None:
    assert parse(text(f'[containment]\nsystemd = "{systemd}"'), FILE).systemd == systemd


@pytest.mark.parametrize(
    ("containment", "line", "key", "message", "remedy"),
    [
        ('systemd = "required"', 4, "containment.systemd", "no way to use systemd", "did you mean 'require'?"),
        ('systemd = "no"', 4, "containment.systemd", "no way to use systemd", "did you mean 'off'?"),
        ('systemd = "of"', 4, "containment.systemd", "no way to use systemd", "did you mean 'off'?"),
        ('systemd = ""', 4, "containment.systemd", '"" is no way', "It is auto, require or off"),
        ('systemd = "Auto"', 4, "containment.systemd", '"Auto" is no way', "did you mean 'auto'?"),
        ("systemd = false", 4, "containment.systemd", "a string, not a boolean", 'such as systemd = "off"'),
        ("systemd = true", 4, "containment.systemd", "a string, not a boolean", 'such as systemd = "auto"'),
        ('sytemd = "off"', 4, "containment.sytemd", "no such key", "did you mean 'systemd'?"),
        ("slice = 'a.slice'", 4, "containment.slice", "no such key", "containment takes systemd"),
        ('name = "a"', 4, "containment.name", "no such key", "it belongs below [team]"),
        ("count = 2", 4, "containment.count", "no such key", "below an [agents.NAME] table"),
    ],
)
def test_mistakes(containment: str, line: int, key: str, message: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        parse(text(f"[containment]\n{containment}"), FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    (problem,) = problems
    assert (problem["line"], problem["key"]) == (line, key)
    assert message in problem["message"]
    assert remedy in problem["remedy"]


@pytest.mark.parametrize("table", ["[team]", "[defaults]", "[agents.builder]"])
def test_systemd_in_another_table(table: str) -> None:
    spec = text("[defaults]").replace(f"{table}\n", f'{table}\nsystemd = "off"\n')
    with pytest.raises(BadSpecError, match="systemd: there is no such key") as caught:
        parse(spec, FILE)
    assert caught.value.remedy == "it belongs below [containment]"


def test_what_is_no_table() -> None:
    with pytest.raises(BadSpecError, match="containment: this must be a table, not a string") as caught:
        parse('containment = "off"\n' + text(""), FILE)
    assert 'systemd = "auto"' in caught.value.remedy
