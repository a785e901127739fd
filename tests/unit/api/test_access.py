"""What agents may touch on a host whose kernel cannot see to it, over HTTP."""

from dataclasses import replace
from pathlib import Path

from corral.api.access_answers import access_object, access_words
from corral.domain.access import ANY_ACCESS, Access, Obstacles
from corral.domain.records import Agent, Team
from corral.supervise.confines import enforced_of
from tests.unit.api.scene import Scene, play

OLD = Obstacles(files="this kernel has no Landlock", ports="no ports", network="no filter")


def text(access: str) -> str:
    return f'[team]\nname = "new"\n[agents.a]\ncommand = ["sleep", "9"]\naccess = {{ {access} }}\n'


def test_what_the_kernel_alone_could_see_to_is_not_started(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.obstacles = OLD
        for access, why in (
            ('read = ["src/**"]', b"read is not possible here: this kernel has no Landlock"),
            ('network = "none"', b"is not possible here: no filter"),
            ("bind = [80]", b"is not possible here: no ports"),
            ('write = ["src/**"], enforce = "kernel"', b"is not possible here: this kernel has no Landlock"),
            ('write = ["src/**"]', b"write is not possible here: this kernel has no Landlock, and nothing looks"),
        ):
            body = {"file": str(tmp_path / "corral.toml"), "text": text(access)}
            reply = await scene.ask("POST", "/v1/up", body)
            assert b'"refused"' in reply.body
            assert why in reply.body
            assert "new" not in scene.registry.teams

    play(tmp_path, act)


def test_what_sees_to_it_instead_is_told() -> None:
    """A worktree on a host without Landlock: its commits are looked at, and why no more than that is said."""
    team = Team(name="shop", file="/x", directory="/x", repo="/x", created_at=0.0)
    declared = Agent(
        team="shop",
        name="a",
        position=0,
        command=("x",),
        shell=False,
        workspace_kind="worktree",
        workspace="/w",
        restart="never",
        prompt="",
        access=Access(write=("src/**",)),
    )
    agent = replace(declared, enforced=enforced_of(team, declared, OLD))
    assert access_object(agent) == {
        "write": ("src/**",),
        "read": None,
        "bind": "any",
        "network": "any",
        "enforce": "auto",
        "enforced": {
            "write": "commit",
            "read": None,
            "bind": None,
            "network": None,
            "why": "write: this kernel has no Landlock",
        },
    }
    assert access_words(agent) == "write commit"
    assert access_words(declared) == "write not yet"
    undeclared = replace(declared, access=ANY_ACCESS)
    assert (access_object(undeclared), access_words(undeclared)) == (None, "")
    ports = replace(undeclared, bind="80,443")
    assert access_words(replace(ports, enforced=enforced_of(team, ports, Obstacles()))) == "bind kernel"
