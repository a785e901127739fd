"""Values that the fuzz of the API found to be trouble: each is refused with words, and none gets behind the door."""

import json
from pathlib import Path

import pytest

from corral.api.app import _on_error
from tests.unit.api.scene import Scene, play


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "Infinity", "1e999", "soon"])
def test_a_time_that_never_comes_is_no_number(value: str, tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for target in (
            f"/v1/topics?team=shop&topic=news&wait={value}",
            f"/v1/kv/changes?team=shop&after=0&wait={value}",
            f"/v1/events?since={value}",
        ):
            reply = await scene.ask("GET", target)
            assert (reply.status, reply.error["code"]) == (400, "wrong_use"), target
            assert "a number is wanted" in reply.error["message"]

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/v1/merges?team=shop&cwd=%00"),  # the keeper would have been asked to look there
        ("GET", "/v1/agents?agent=a%00"),
        ("GET", "/v1/logs?team=shop&agent=a&agent=b%00"),
        ("GET", "/v1/leases/check?team=shop&path=a%00b"),
    ],
)
def test_a_nul_in_a_query_is_refused(method: str, target: str, tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask(method, target, {} if method == "POST" else None)
        assert (reply.status, reply.error["message"]) == (400, "the query has a NUL in it")

    play(tmp_path, act)


@pytest.mark.parametrize("file", ["", "corral.toml", "../x", "/x/\0/corral.toml"])
def test_up_with_a_file_that_is_nowhere_is_wrong_use(file: str, tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("POST", "/v1/up", {"file": file, "text": "", "dry_run": True})
        assert b'"code":"bad_spec"' in reply.body
        assert b"is not the absolute path of a file" in reply.body

    play(tmp_path, act)


def test_what_nobody_foresaw_is_told_without_what_is_in_it() -> None:
    class Asked:
        method = "GET"

        class url:  # noqa: N801 - as Starlette has it
            path = "/v1/x"

    failures = (ValueError("token=hunter2"), FileNotFoundError(2, "No such file", "/home/ann/.ssh/id"))
    for error, said in zip(failures, ("ValueError", "FileNotFoundError: No such file"), strict=True):
        answer = _on_error(Asked, error)  # type: ignore[arg-type]
        assert json.loads(bytes(answer.body))["error"]["message"] == f"the daemon failed: {said}"
