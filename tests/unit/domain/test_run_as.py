"""What helps where somebody may not have agents run by another user: the command of Corral's that does all of it."""

import pytest

from corral.domain.errors import RefusedError
from corral.domain.run_as import check


@pytest.mark.parametrize(
    ("owners", "own_group", "groups"),
    [((), "bot", ()), ((), "bot", ("bot",)), ((), "users", ("corral-agents",)), ((), "bot", ("bot", "corral-agents"))],
)
def test_the_remedy_is_to_make_it_a_user_of_agents(
    owners: tuple[str, ...], own_group: str, groups: tuple[str, ...]
) -> None:
    with pytest.raises(RefusedError) as refused:
        check("builder", "ann", owners, "bot", own_group, groups)
    assert "sudo corral member add bot --role agent --of ann" in refused.value.remedy
    assert "usermod -aG" not in refused.value.remedy


def test_whoever_is_in_its_group_may_use_it() -> None:
    check("builder", "ann", ("bot",), "bot", "bot", ("bot", "corral-agents"))
    check("builder", "ann", (), "ann", "ann", ())
