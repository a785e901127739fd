"""How errors read for people: each mistake with what would be right below it."""

import json
from pathlib import Path

from tests.unit.cli.conftest import Corral

WRONG = '[team]\nname = "shop"\n[agents.a]\ncomand = "x"\ncount = true\ncommand = "y"\n'


def test_each_mistake_of_a_file_is_followed_by_its_remedy(corral: Corral, own_directory: Path) -> None:
    spec = own_directory / "corral.toml"
    spec.write_text(WRONG)
    outcome = corral("up", "--dry-run")
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f"corral: {spec}:4: agents.a.comand: there is no such key",
        "  → did you mean 'command'?",
        f"corral: {spec}:5: agents.a.count: this must be an integer, not a boolean",
        "  → such as count = 2",
    ]


def test_mistakes_that_are_left_out_are_counted(corral: Corral, own_directory: Path) -> None:
    many = "".join(f"x{number} = 1\n" for number in range(120))
    (own_directory / "corral.toml").write_text('[team]\nname = "shop"\n[agents.a]\ncommand = "y"\n' + many)
    lines = corral("up", "--dry-run").err.splitlines()
    assert (len(lines), lines[-1]) == (201, "corral: and 20 more mistakes")
    error = json.loads(corral("up", "--dry-run", "--json").err)["error"]
    assert (len(error["problems"]), error["left_out"]) == (100, 20)


def test_a_program_gets_all_of_them_as_before(corral: Corral, own_directory: Path) -> None:
    (own_directory / "corral.toml").write_text(WRONG)
    error = corral("up", "--dry-run", "--json").error
    assert error["message"].count("\n") == 1
    assert [problem["line"] for problem in error["problems"]] == [4, 5]
    assert "left_out" not in error
