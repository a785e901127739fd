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
        check("builder", "ann", owners, "bot", own_group, groups, 2000 if groups else None)
    assert "sudo corral member add bot --role agent --of ann" in refused.value.remedy
    assert "usermod -aG" not in refused.value.remedy


def test_whoever_is_in_its_group_may_use_it() -> None:
    check("builder", "ann", ("bot",), "bot", "bot", ("bot", "corral-agents"), 2000)
    check("builder", "ann", (), "ann", "ann", (), 1000)


@pytest.mark.parametrize(("user", "uid"), [("root", 0), ("corral", 998), ("nobody", 65534)])
def test_an_account_of_the_system_is_not_told_to_be_made_a_user_of_agents(user: str, uid: int) -> None:
    for owners, groups in (((), (user,)), ((user,), (user, "corral-agents"))):
        with pytest.raises(RefusedError, match="account of the system") as refused:
            check("builder", "ann", owners, user, user, groups, uid)
        assert f"member add {user}" not in refused.value.remedy
        assert "sudo corral member add NAME --role agent --of ann makes one" in refused.value.remedy
