"""What nobody honest asks for: the daemon says no, or takes it as it is, and goes on with everybody else."""

import asyncio
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance
from tests.unit.api.scene import Scene, play

#: Refused; and as much of their kind as somebody may ask for at once.
EXPLODING = ["*a" * 120 + "b", "**/a/" * 31 + "b", "[a-z]*" * 32, "/".join(["*?" * 7] * 64)]
LEGAL = [
    ["*a" * 15 + "{}[ab]"] * 2,
    ["**/" + "a/" * 50 + "*" + "a" * 70 + "{}[xy]"] * 2,
    ["[ab]aaaaaaa{}"] * 32,
    ["**/*a*/**/*a*/**/*{}[ab]"] * 3,
]
BODIES: list[tuple[str, bytes]] = [
    ("/v1/leases", json.dumps({"patterns": ["x" * 100_000]}).encode()),
    ("/v1/leases", json.dumps({"patterns": ["a/" * 1000 + "b"]}).encode()),
    ("/v1/leases", json.dumps({"patterns": ["a\0b"]}).encode()),
    ("/v1/leases", json.dumps({"patterns": ["\udcff"]}).encode()),
    ("/v1/leases", b'{"patterns": ["\xff"]}'),
    ("/v1/leases", json.dumps({"patterns": ["x"], "ttl": 1e308}).encode()),
    ("/v1/leases", b'{"patterns": ["x"], "wait": 1e999}'),
    ("/v1/leases", b'{"patterns": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ("/v1/locks", json.dumps({"name": "x" * 100_000}).encode()),
    ("/v1/locks", json.dumps({"name": "../x"}).encode()),
    ("/v1/tasks", json.dumps({"title": "x" * 100_000}).encode()),
    ("/v1/tasks", json.dumps({"title": "x\0"}).encode()),
    ("/v1/tasks", json.dumps({"title": "x", "priority": 2**70}).encode()),
    ("/v1/tasks", json.dumps({"title": "x", "after": ["t" + "9" * 100]}).encode()),
    ("/v1/tasks", b'{"title": "\xff"}'),
    ("/v1/tasks/claim", json.dumps({"wait": -1}).encode()),
    ("/v1/tasks/claim", json.dumps({"labels": ["\ud800"]}).encode()),
    ("/v1/tasks/t1/done", json.dumps({"token": 2**70}).encode()),
    ("/v1/messages", json.dumps({"to": ["a"], "text": "x", "key": "k\0"}).encode()),
    ("/v1/messages", json.dumps({"to": ["a\0"], "text": "x"}).encode()),
    ("/v1/messages", b'{"to": ["a"], "text": "\xed\xa0\x80"}'),
    ("/v1/kv", json.dumps({"puts": {"x" * 10_000: "y"}}).encode()),
    ("/v1/kv", b'{"puts": {"\xff": "y"}}'),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_what_can_be_nothing_is_refused_and_nothing_is_written(tmp_path: Path, path: str, body: bytes) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("POST", f"{path}?team=shop&agent=a", body)
        assert 400 <= reply.status < 500, reply.body[:200]
        assert reply.error["message"]
        assert len(reply.body) < 2000, "what is refused is not repeated"
        for kind in ("lease", "task", "message", "kv"):
            assert await scene.store.items(kind) == []
        assert (await scene.ask("GET", "/v1/health")).status == 200

    play(tmp_path, act)


def test_patterns_made_to_take_for_ever_keep_nobody_waiting(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for pattern in EXPLODING:
            reply = await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": [pattern]})
            assert (reply.status, reply.error["code"]) == (400, "wrong_use"), pattern
        for patterns in LEGAL:
            held = [pattern.format(number % 10) for number, pattern in enumerate(patterns)]
            reply = await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": held})
            assert reply.status == 200, reply.body[:200]
        others = [{"patterns": [pattern.format("c") for pattern in patterns], "wait": 0} for patterns in LEGAL]
        replies = [scene.ask("POST", "/v1/leases?team=shop&agent=b", other) for other in others]
        replies += [scene.ask("GET", f"/v1/leases/check?team=shop&agent=b&path={'a' * 200}") for _ in range(4)]
        # Not a measurement: what explodes takes longer than anybody waits.
        assert {reply.status for reply in await asyncio.wait_for(asyncio.gather(*replies), 50)} <= {200, 409}

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (b"caf\xe9.py", 409),  # a pattern names it, whatever its bytes are
        (b"src/\xff\xfe/x", 409),
        (b"other/\xff", 200),
        (b"a\0b", 400),
        (b"../x", 400),
        (b"x" * 50_000, 200),
        ("o\u0308.py".encode(), 409),
    ],
)
def test_names_of_every_kind_are_checked_as_they_are(tmp_path: Path, path: bytes, status: int) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["*.py", "src/"]})
        reply = await scene.ask("GET", f"/v1/leases/check?team=shop&agent=b&path={quote(path)}")
        assert reply.status == status, reply.body[:300]

    play(tmp_path, act)


def test_a_file_whose_name_is_no_text_is_held_by_a_pattern(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    name = os.fsdecode(b"caf\xe9.py")
    code, error = instance.error("lease", "acquire", "--agent", "a-1", name)
    assert (code, error["remedy"]) == (2, "write a ? for each byte that is none: caf?.py")
    instance.run("lease", "acquire", "--agent", "a-1", "caf?.py")
    assert instance.run("lease", "check", "--agent", "a-2", name, check=False).returncode == 4
    assert instance.run("lease", "check", "--agent", "a-1", name).returncode == 0
    assert instance.run("lease", "check", "--agent", "a-2", os.fsdecode(b"caf\xe9s.py")).returncode == 0
