"""The route of hooks: what a program that asks by itself is told, and what a hook is told."""

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from corral.domain.hook_calls import Verdict
from corral.domain.hook_dialects import dialect
from corral.domain.records import Who
from corral.ports.files import SeenFile
from corral.service.agent_hooks import Heard
from tests.support.records import PERSON
from tests.unit.api.deciding import ME, Scripted, decided
from tests.unit.api.scene import Reply, Scene, play


async def ask(scene: Scene, program: str, event: str, said: object, agent: str = "b") -> Reply:
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    return await scene.ask("POST", f"/v1/hooks/{program}?event={event}&team=shop&agent={agent}", body)


async def at(scene: Scene, directory: Path) -> None:
    """Have the team work in a directory that is there."""
    team = replace(scene.registry.teams["shop"], repo=str(directory), directory=str(directory))
    moved = [replace(agent, workspace=str(directory)) for agent in scene.registry.of_team("shop").values()]
    await scene.registry.commit(PERSON, teams=[team], agents=moved)


def test_a_program_is_told_whether_it_may_and_what_the_agent_wants_to_hear(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await at(scene, tmp_path)
        await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["docs/"]})
        said = {"cwd": str(tmp_path), "tool_name": "Write", "tool_input": {"file_path": "docs/x"}}
        refused = (await ask(scene, "claude", "PreToolUse", said)).json
        assert (refused["allowed"], refused["exit_code"], refused["stderr"]) == (False, 0, "")
        assert "shop/a holds docs/" in refused["reason"]
        decision = json.loads(refused["stdout"])["hookSpecificOutput"]
        assert decision["permissionDecisionReason"] == refused["reason"]
        mine = (await ask(scene, "claude", "PreToolUse", said, agent="a")).json
        assert mine == {"allowed": True, "reason": "", "stdout": "", "stderr": "", "exit_code": 0, "receipt": ""}
        assert ("hook.refused", "refused") in [(event, outcome) for event, outcome, _ in await journal(scene)]

    async def journal(scene: Scene) -> list[tuple[str, str, dict[str, object]]]:
        await scene.registry.save()
        return await scene.journal()

    play(tmp_path, act)


@pytest.mark.parametrize("owner", ["ann", ME])
def test_on_a_shared_server_leases_are_among_the_teams_of_one_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    """Whoever touches what others hold, or says that their team is there as well, is not told of it."""
    mine = owner == ME

    async def act(scene: Scene) -> None:
        monkeypatch.setattr(scene.services.supervisor.keepers, "shared", True)
        for name, user in (("shop", ME), ("toys", owner)):
            team = replace(scene.registry.teams[name], repo=str(tmp_path), directory=str(tmp_path), user=user)
            moved = [replace(agent, workspace=str(tmp_path)) for agent in scene.registry.of_team(name).values()]
            await scene.registry.commit(PERSON, teams=[team], agents=moved)
        assert (await scene.ask("POST", "/v1/leases?team=toys&agent=z", {"patterns": ["docs/"]})).status == 200
        said = {"cwd": str(tmp_path), "tool_name": "Write", "tool_input": {"file_path": "docs/x"}}
        for reply in (
            await ask(scene, "claude", "PreToolUse", said),
            await scene.ask("POST", "/v1/hooks/claude?event=PreToolUse", said),
            await scene.ask("POST", "/v1/leases?team=shop&agent=b", {"patterns": ["docs/x"]}),
            await scene.ask("GET", "/v1/leases?team=shop&agent=b"),
        ):
            assert (b"toys/z" in reply.body) is mine, reply.body

    play(tmp_path, act)


def test_who_is_not_known_and_what_is_not_understood_are_errors(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        unknown = await ask(scene, "aider", "PreToolUse", {})
        assert (unknown.status, "claude" in unknown.error["remedy"]) == (404, True)
        assert (await ask(scene, "claude", "PreToolUse", b"nonsense")).status == 400
        assert (await ask(scene, "claude", "PreToolUse", {})).status == 400
        assert (await ask(scene, "claude", quote("Some New Event"), {})).status == 200

    play(tmp_path, act)


def test_what_agents_knew_goes_with_them(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await at(scene, tmp_path)
        (tmp_path / "x").write_text("one")
        said = {"session_id": "s", "cwd": str(tmp_path), "tool_name": "Read", "tool_input": {"file_path": "x"}}
        assert (await ask(scene, "claude", "PostToolUse", said)).status == 200
        assert len(await scene.store.items("file note")) == 1
        await scene.registry.commit(PERSON, drop_agents=[("shop", "b")])
        # What is noted next is written after it.
        await ask(scene, "claude", "PostToolUse", said, agent="a")
        (left,) = await scene.store.items("file note")
        assert left.key.startswith("shop/a\n")

    play(tmp_path, act)


def test_hooks_are_registered_only_where_that_can_be(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        refused = await scene.ask("POST", "/v1/hooks/claude/register", {"directory": "relative"})
        assert refused.status == 400
        unknown = await scene.ask("POST", "/v1/hooks/aider/register", {"directory": "/x"})
        assert (unknown.status, "claude" in unknown.error["remedy"]) == (404, True)

    play(tmp_path, act)


def test_what_was_lost_to_somebody_who_has_given_it_back_is_to_be_acquired_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await at(scene, tmp_path)
        for agent in ("b", "a"):
            held = (await scene.ask("POST", f"/v1/leases?team=shop&agent={agent}", {"patterns": ["docs/"]})).json
            # By a person, without its token: for the agent it is lost.
            await scene.ask("POST", f"/v1/leases/{held['lease']}/release?team=shop&agent={agent}", {})
        said = {"cwd": str(tmp_path), "tool_name": "Write", "tool_input": {"file_path": "docs/x"}}
        reason = (await ask(scene, "claude", "PreToolUse", said)).json["reason"]
        assert "is lost: shop/a got docs/" in reason
        assert "corral lease acquire docs/" in reason
        assert "wait" not in reason

    play(tmp_path, act)


def test_a_second_write_is_judged_by_what_the_file_is_then(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async def allowed(event: str, tool: str) -> bool:
            said = {"session_id": "s", "cwd": str(tmp_path), "tool_name": tool, "tool_input": {"file_path": "x"}}
            return bool((await ask(scene, "claude", event, said)).json["allowed"])

        await at(scene, tmp_path)
        (tmp_path / "x").write_text("one")
        await allowed("PostToolUse", "Read")
        assert await allowed("PreToolUse", "Edit")
        assert await allowed("PreToolUse", "Edit"), "both were announced before the first was done"
        # The tool never ran, and somebody without hooks changes the file.
        (tmp_path / "x").write_text("two")
        assert not await allowed("PreToolUse", "Edit")
        await allowed("PostToolUse", "Read")
        assert await allowed("PreToolUse", "Edit")
        (tmp_path / "x").write_text("three")
        await allowed("PostToolUse", "Edit")
        assert await allowed("PreToolUse", "Edit"), "its own writing, which it told of"

    play(tmp_path, act)


async def side_by_side(scene: Scene, directory: Path) -> None:
    """Have both teams work in one directory: `shop` is mine, and `toys` is ann's, with a keeper of her own."""
    for name in ("shop", "toys"):
        team = replace(scene.registry.teams[name], repo=str(directory), directory=str(directory))
        moved = [replace(agent, workspace=str(directory)) for agent in scene.registry.of_team(name).values()]
        await scene.registry.commit(PERSON, teams=[team], agents=moved)


def a_hook_of(scene: Scene, team: str, agent: str, path: Path, event: str, user: str) -> Awaitable[Verdict]:
    """As the daemon hears it of that user."""
    said = {"session_id": "s", "cwd": str(path.parent), "tool_name": "Write", "tool_input": {"file_path": str(path)}}
    heard = Heard(event=event, said=json.dumps(said).encode(), team=team, agent=agent, run="r1", cwd=str(path.parent))
    spoken_by = dialect("claude")
    assert spoken_by is not None
    return scene.services.hooks.hear(Who(user=user, uid=1), spoken_by, heard)


def test_a_keeper_that_does_not_answer_keeps_no_agent_of_others_from_writing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await side_by_side(scene, tmp_path)
        stopped = asyncio.Event()

        async def stop(**_: object) -> list[SeenFile]:
            stopped.set()
            await asyncio.Event().wait()
            return []

        scene.keepers["ann"].look_at_files = stop  # type: ignore[method-assign]
        waits = asyncio.ensure_future(a_hook_of(scene, "toys", "z", tmp_path / "x", "PreToolUse", "ann"))
        await stopped.wait()
        async with asyncio.timeout(5):
            assert (await a_hook_of(scene, "shop", "a", tmp_path / "y", "PreToolUse", ME)).reason == ""
        assert not waits.done()
        waits.cancel()

    decided(tmp_path, Scripted(lambda _: True), act, several=True)


def test_what_others_write_is_neither_told_nor_kept_from_them_by_a_keeper_that_names_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await side_by_side(scene, tmp_path)

        async def lie(**_: object) -> list[SeenFile]:
            return [SeenFile(real=str(tmp_path / "x"), top=str(tmp_path), below="mine", stamp="s")]

        scene.keepers["ann"].look_at_files = lie  # type: ignore[method-assign]
        mine = partial(a_hook_of, scene, "shop", path=tmp_path / "x", user=ME)
        anns = partial(a_hook_of, scene, "toys", "z", path=tmp_path / "mine", user="ann")
        # It is written: she is not told that, and what she writes keeps nobody from it.
        assert (await mine("a", event="PreToolUse")).reason == ""
        assert (await anns(event="PreToolUse")).reason == ""
        assert "shop/a is writing it" in (await mine("b", event="PreToolUse")).reason
        (tmp_path / "x").write_text("one")
        assert (await mine("a", event="PostToolUse")).reason == ""
        assert (await anns(event="PostToolUse")).reason == ""
        assert (await mine("a", event="PreToolUse")).reason == ""
        assert "toys" not in (await mine("b", event="PreToolUse")).reason
        # So it is in what the next daemon reads.
        (await scene.services.hooks._read())()
        assert "toys" not in (await mine("b", event="PreToolUse")).reason

    decided(tmp_path, Scripted(lambda _: True), act, several=True)
