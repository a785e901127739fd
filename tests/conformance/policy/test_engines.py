"""Both engines answer alike: the whole table, what is wrong, and a host's own files, word for word."""

import asyncio
import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.policy.opa import OpaPolicy
from corral.adapters.policy.sources import read, write
from corral.domain.policy import Decision, Question
from corral.ports.policy import Policy
from tests.support import opa
from tests.support.permissions import EVERYBODY, cases, decisions, question

pytestmark = pytest.mark.slow

OWN = {
    "own.rego": (
        'package corral\n\nallow["on_call"] := "jim is on call" if {\n\tinput.verb == "send"\n'
        '\tinput.who.user == "jim"\n}\n\ndeny["frozen"] := "nobody touches the bank" if {\n'
        '\tinput.on.team == "bank"\n\tact == "steer"\n}\n'
        '\ndeny["joined"] := "nobody joins it" if {\n\tinput.verb == "attach"\n\tinput.on.agent == "builder"\n}\n'
    ),
    "data.json": json.dumps({"tables": {"roles": {"junior": {"grants": {"read": ["teammates"], "audit": None}}}}}),
    "teams/my-shop/own.rego": (
        'package corral.teams["my-shop"]\n\nallow["all_read"] := "here all read" if input.verb == "logs"\n'
    ),
    "teams/shop/data.json": json.dumps(
        {"roles": {"observer": {"grants": {"steer": ["any"], "read": []}}, "junior": {"grants": None}}}
    ),
}


@pytest.fixture(params=["shipped", "own"], scope="module")
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("policy")
    for name, text in OWN.items() if request.param == "own" else ():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.fixture(scope="module")
def url(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    files = tmp_path_factory.mktemp("opa")
    write(read(str(directory)), str(files))
    with opa.server(files) as address:
        yield address


def questions() -> list[Question]:
    asked = [question(who, what, on) for what, on, _ in cases() for who in EVERYBODY]
    asked += [question(who, "logs", "my-shop/builder") for who in EVERYBODY]
    june = question("june", "send", "shop/builder")
    odd = [
        dataclasses.replace(june, who=dataclasses.replace(june.who, role="chief")),
        dataclasses.replace(june, who=dataclasses.replace(june.who, role="agent")),
        dataclasses.replace(june, who=dataclasses.replace(june.who, role="")),
        dataclasses.replace(june, who=dataclasses.replace(june.who, user="")),
        dataclasses.replace(june, who=dataclasses.replace(june.who, agent="shop")),
        dataclasses.replace(june, who=dataclasses.replace(june.who, agent="/builder")),
        dataclasses.replace(
            june, who=dataclasses.replace(june.who, user="zoë"), on=dataclasses.replace(june.on, owner="zoë")
        ),
        dataclasses.replace(june, on=dataclasses.replace(june.on, kind="")),
        dataclasses.replace(june, on=dataclasses.replace(june.on, owner='x", "allow": true, "y": "')),
        dataclasses.replace(june, verb=""),
        dataclasses.replace(june, verb="tables"),
        dataclasses.replace(june, facts={"mode": "x" * 20_000}),
        dataclasses.replace(june, facts={"something": "else"}),
    ]
    return asked + odd


async def answers(policy: Policy, asked: list[Question]) -> list[Decision]:
    try:
        return [await policy.decide(one) for one in asked]
    finally:
        await policy.close()


def test_the_same_questions_get_the_same_answers(directory: Path, url: str) -> None:
    asked = questions()
    here = decisions(asked, str(directory))

    async def there() -> list[Decision]:
        return await answers(OpaPolicy(url, 30.0), asked)

    different = [
        (one.document(), mine, other)
        for one, mine, other in zip(asked, here, asyncio.run(there()), strict=True)
        if mine != other
    ]
    assert different == []
    assert {one.allow for one in here} == {True, False}
    joined = {
        rule.rule for one, rule in zip(asked, here, strict=True) if one.verb == "attach" and one.who.user == "olga"
    }
    assert ("joined" in joined) is (directory / "own.rego").exists()


def test_a_server_without_the_policy_denies(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("{}")
    with opa.server(tmp_path) as address:

        async def act() -> list[Decision]:
            return await answers(OpaPolicy(address, 10.0), [question("olga", "health", "host")])

        (decision,) = asyncio.run(act())
    assert (decision.allow, decision.rule) == (False, "no_answer")


def test_opa_finds_no_fault_with_what_ships(tmp_path: Path) -> None:
    """rego-cpp takes what OPA would not, such as a rule that has the name of a table."""
    write(read(), str(tmp_path / "files"))
    done = subprocess.run(
        [opa.program(), "check", "--strict", str(tmp_path / "files")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
