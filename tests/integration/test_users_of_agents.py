"""What is for a shared server only, asked of an instance of one person."""

import pytest

from tests.support.instance import Instance


@pytest.mark.parametrize(
    ("team", "agent", "what"),
    [("", 'run_as = "agent-builder"', "run_as"), ('group = "devs"\ngroup_access = "read"', "", "group_access")],
)
def test_it_is_refused_and_nothing_is_started(instance: Instance, team: str, agent: str, what: str) -> None:
    instance.spec(
        f'[team]\nname = "shop"\n{team}\n[agents.a]\ncommand = ["sleep", "100"]\nworkspace = "shared"\n{agent}'
    )
    code, error = instance.error("up")
    assert (code, error["code"]) == (4, "refused")
    assert error["message"].startswith(f"{what} is for a shared server")
    assert instance.json("ps") == []
