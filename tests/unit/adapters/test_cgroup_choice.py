"""Which cgroup counts as left to us, decided from what is known of the way up."""

import pytest

from corral.adapters.cgroup.delegation import Step, choose
from corral.adapters.cgroup.tree import Cgroup

MINE = "user@1000.service"


def way(name: str, *, writable: str = "/", marked: str = "") -> list[Step]:
    """The way up from `name`: writable from the cgroup `writable` downwards, with a mark on `marked`."""
    steps = []
    while True:
        steps.append(
            Step(
                Cgroup(name=name, path="/m" + name.rstrip("/")),
                writable=name == writable or name.startswith(writable.rstrip("/") + "/"),
                marked=name == marked,
            )
        )
        if name == "/":
            return steps
        name = name.rsplit("/", 1)[0] or "/"


@pytest.mark.parametrize(
    ("steps", "root", "systemd", "expected"),
    [
        # An ordinary user gets everything that is his, the highest first.
        (way("/me/shell", writable="/me"), False, False, ["/me", "/me/shell"]),
        (way("/me", writable="/me"), False, True, ["/me"]),
        (way("/user.slice/session-1.scope", writable="/none"), False, True, "is not writable"),
        # A service with Delegate= of the system's manager belongs to its user: that is seen by who owns it.
        (way("/system.slice/c.service/x", writable="/system.slice/c.service"), False, True, 2),
        # What the user's own manager looks after is the manager's, but for units that it left to us.
        (way(f"/u/{MINE}/app.slice/t.scope", writable=f"/u/{MINE}", marked=f"/u/{MINE}"), False, True, "not delegated"),
        (way(f"/u/{MINE}/app.slice/t.scope", writable=f"/u/{MINE}"), False, True, "not delegated"),
        (
            way(f"/u/{MINE}/app.slice/c.service/x", writable=f"/u/{MINE}", marked=f"/u/{MINE}/app.slice/c.service"),
            False,
            True,
            [f"/u/{MINE}/app.slice/c.service", f"/u/{MINE}/app.slice/c.service/x"],
        ),
        # Root may write everything, which says nothing.
        (way("/user.slice/session-1.scope"), True, True, "managed by systemd and not delegated"),
        (way("/system.slice/c.service/x", marked="/system.slice/c.service"), True, True, 2),
        (way("/"), True, False, ["/"]),
        (way("/a/b"), True, False, ["/a/b"]),
    ],
)
def test_what_was_left_to_us(steps: list[Step], root: bool, systemd: bool, expected: list[str] | int | str) -> None:
    chosen = choose(steps, instance="i1", root=root, systemd=systemd)
    if isinstance(expected, str):
        assert isinstance(chosen, str)
        assert expected in chosen
    else:
        assert not isinstance(chosen, str)
        names = [group.name for group in chosen]
        assert len(names) == expected if isinstance(expected, int) else names == expected


def test_a_keeper_in_the_cgroup_of_an_agent_of_its_own_looks_above() -> None:
    chosen = choose(way("/me/corral-i1/shop/api", writable="/me"), instance="i1", root=False, systemd=False)
    assert [group.name for group in chosen if isinstance(group, Cgroup)] == ["/me"]


def test_a_keeper_in_the_cgroup_of_somebody_elses_agent_stays_in_it() -> None:
    steps = way("/me/corral-i2/shop/api", writable="/me")
    chosen = choose(steps, instance="i1", root=False, systemd=False)
    assert [group.name for group in chosen if isinstance(group, Cgroup)] == ["/me/corral-i2/shop/api"]
    steps = way("/me/corral-i2/shop/api/corral-i1/a/b", writable="/me")
    chosen = choose(steps, instance="i1", root=False, systemd=False)
    assert [group.name for group in chosen if isinstance(group, Cgroup)] == ["/me/corral-i2/shop/api"]
