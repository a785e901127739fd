"""`[agents.x.access]`: what is read of it, and what each mistake is answered with."""

from typing import Any

import pytest

from corral.domain import spec
from corral.domain.access import ANY_ACCESS, Access
from corral.domain.errors import BadSpecError
from corral.domain.spec import AgentSpec
from corral.domain.spec_fingerprint import differences, fingerprint, split_differences


def agent(table: str = "") -> AgentSpec:
    text = f'[team]\nname = "shop"\n[agents.a]\ncommand = ["x"]\n[agents.a.access]\n{table}'
    return spec.parse(text, "/x/corral.toml").agents[0]


def problem(table: str) -> tuple[str, str, str]:
    with pytest.raises(BadSpecError) as caught:
        agent(table)
    problems: Any = caught.value.as_json()["problems"]
    (found,) = problems
    return found["key"], found["message"], found["remedy"]


def test_nothing_declared_is_nothing_limited() -> None:
    assert (agent().access, agent().bind) == (ANY_ACCESS, "any")


def test_all_that_can_be_declared() -> None:
    found = agent(
        'write = ["./src/**", "*.md", "~/.npm/", "/srv/x/**"]\nread = ["src/", "Makefile", "/srv"]\nbind = [9, 8]\n'
    )
    assert found.access == Access(write=("src/**", "*.md", "~/.npm", "/srv/x"), read=("src/", "Makefile", "/srv"))
    assert found.bind == "8,9"
    assert agent("write = []\n").access.write == ()
    assert agent('bind = []\nnetwork = "none"\n').bind == "none"
    assert agent('network = "none"\nenforce = "commit"\n').access == Access(network="none", enforce="commit")


@pytest.mark.parametrize(
    ("table", "key", "message", "remedy"),
    [
        ("wirte = []\n", "wirte", "no such key", "did you mean 'write'?"),
        ('write = "src"\n', "write", "must be an array", 'write = ["src/**"'),
        ("write = [1]\n", "write", "pattern 1 must be a string", "such as"),
        ('write = ["../x"]\n', "write", "'..' as a part", "without . and .."),
        ('write = ["/a/*"]\n', "write", "has a wildcard in it", "name the directory"),
        ('write = ["~/../x"]\n', "write", "has . or .. as a part", "whole path"),
        ('write = [".git/**"]\n', "write", "is git's own", "leave it out"),
        ('write = ["src/a**"]\n', "write", "has ** in", "any number of directories"),
        ('write = ["a\\nb"]\n', "write", "control characters", "such as"),
        ('write = ["*.md"]\nenforce = "kernel"\n', "write", "the kernel knows directories only", "name directories"),
        ('write = ["README.md"]\nenforce = "kernel"\n', "write", "is no directory", "name directories"),
        ('read = ["*.md"]\n', "read", "neither a directory nor a file", "name directories"),
        ('network = "loopback"\n', "network", "nothing that the kernel can tell apart", "any or none"),
        ('network = "off"\n', "network", "says nothing about the network", "did you mean 'none'?"),
        ('network = "none"\nbind = "own"\n', "bind", "it can listen nowhere", "leave one of the two out"),
        ('bind = ["web"]\n', "bind", "entry 1 is no port", "bind = [8080, 9000]"),
        ("bind = [0]\n", "bind", "0 is no port, which is a number from 1 to 65535", "bind = ["),
        ('bind = [80, "web"]\n', "bind", "entry 2 is no port, which is a number from 1 to 65535", "bind = ["),
        ("bind = 80\n", "bind", "must be a string or an array of ports", "bind = [8080]"),
        (f"bind = {list(range(1, 66))}\n", "bind", "these are 65 ports", "at most 64"),
        ('enforce = "landlock"\n', "enforce", "nothing that could see to it", "did you mean 'kernel'?"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_what_would_be_right(
    table: str, key: str, message: str, remedy: str
) -> None:
    found = problem(table)
    assert found[0] == f"agents.a.access.{key}"
    assert message in found[1]
    assert remedy in found[2]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('write = ["src/**"]\n', "access.write"),
        ("write = []\n", "access.write"),
        ("read = []\n", "access.read"),
        ('network = "none"\n', "access.network"),
        ('enforce = "kernel"\n', "access.enforce"),
        ('bind = "none"\n', "bind"),
    ],
)
def test_every_part_of_it_needs_a_restart(table: str, key: str) -> None:
    differs = differences(fingerprint(agent(), b"s"), fingerprint(agent(table), b"s"))
    assert split_differences(differs) == ((), (key,))
