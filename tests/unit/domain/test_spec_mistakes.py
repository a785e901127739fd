"""How a bad `corral.toml` is told of as a whole. What counts as a mistake: test_spec_mistakes_of_*.py."""

from tests.unit.domain.mistakes import AGENT, TEAM, problems_of


def test_all_mistakes_of_a_file_are_told_at_once_in_the_order_of_their_lines() -> None:
    error, problems = problems_of('[agents.B]\ncmd = "x"\ncount = true\n[team]\nrepo = 1\n[agents.c]\ncommand = []\n')
    assert [(problem["line"], problem["key"]) for problem in problems] == [
        (1, "agents.B"),
        (2, "agents.B.cmd"),
        (3, "agents.B.count"),
        (4, "team.name"),
        (5, "team.repo"),
        (7, "agents.c.command"),
    ]
    assert error.message.count("\n") == 5
    assert [line.partition(": ")[0] for line in error.remedy.split("\n")] == [f"line {n}" for n in (1, 2, 3, 4, 5, 7)]


def test_the_remedy_of_a_single_mistake_stands_alone() -> None:
    error, _ = problems_of(TEAM + '[agents.b]\ncomand = "x"\n')
    assert error.remedy == "did you mean 'command'?"


def test_a_file_full_of_mistakes_is_cut_short() -> None:
    error, problems = problems_of(AGENT + "".join(f"x{number} = 1\n" for number in range(250)))
    assert len(problems) == 100
    assert error.message.endswith("and 150 more")


def test_the_exit_code_is_that_of_a_bad_spec() -> None:
    error, _ = problems_of("")
    assert (error.exit_code, error.code) == (2, "bad_spec")


def test_a_value_of_the_environment_is_never_shown() -> None:
    error, _ = problems_of(AGENT + 'env = { "BAD-NAME" = "hunter2", CORRAL_X = "hunter2", NUL = "hunter2\\u0000" }')
    assert "hunter2" not in str(error.as_json())
