"""Attacks: names of files that something would take for more than names, where they are shown to people and agents."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.lab.security.attacks import WEB, Outcome, now
from tests.lab.security.ground import ANN, Ground
from tests.lab.support.users import Result

#: An option, a line of its own, the title of a terminal, a format of tmux, and a command of a shell.
NAME = "-rf\nFORGED: yes\x1b]2;owned\x07#(touch /tmp/owned)$(touch /tmp/owned)`touch /tmp/owned`"
HOLDER = ("--team", "shop")
#: What shows it to somebody, and whether it is refused there because of shop/web, which holds the file.
VIEWS = {
    "who": (("who", *HOLDER, "--", NAME), 0),
    "lease ls": (("lease", "ls", *HOLDER), 0),
    "lease check": (("lease", "check", *HOLDER, "--", NAME), 4),
    "lease acquire": (("lease", "acquire", "--literal", *HOLDER, "--", NAME), 4),
    "events": (("events", *HOLDER, "-n", "all"), 0),
    "merge ls": (("merge", "ls", *HOLDER), 0),
    "merge show": (("merge", "show", *HOLDER, "{merge}"), 0),
    "msg read": (("msg", "read", "--agent", WEB, "{letter}"), 0),
    "inbox": (("inbox", *HOLDER), 0),
}
#: Those that name the file: else there was nothing to be seen.
NAMING = ("lease ls", "lease check", "lease acquire", "merge show", "msg read")


@dataclass(frozen=True)
class Named:
    """A file of that name is in a commit of each agent, and they conflict; shop/web holds a lease of it."""

    since: str
    merge: str
    letter: str


def commit(agent: str) -> None:
    """Have an agent commit a file of that name, with its own words in it."""
    name = shlex.quote(NAME)
    there = f'mkdir -p -- "$(dirname -- {name})" && echo {agent} >./{name} && git add -- {name}'
    done = ANN.run("corral", "exec", agent, "--", "sh", "-c", f"{there} && git commit --quiet --message named")
    assert done.returncode == 0


def submit(agent: str) -> Result:
    return ANN.run("corral", "merge", "submit", "--agent", agent, "--wait", "60s", "--json", check=False)


@pytest.fixture(scope="module")
def named(ground: Ground) -> Iterator[Named]:
    since = now()
    for agent in ("shop/api", WEB):
        commit(agent)
    assert json.loads(submit("shop/api").stdout)["state"] == "merged"
    refused = json.loads(submit(WEB).stderr)["error"]
    assert refused["state"] == "conflict", refused
    (letter,) = json.loads(ANN.run("corral", "msg", "inbox", "--agent", WEB, "--json").stdout)["messages"]
    # It holds the file from here on, so that everybody else is told of it.
    held = ANN.run("corral", "exec", WEB, "--", "corral", "lease", "acquire", "--json", "--literal", "--", NAME)
    yield Named(since, refused["merge"], letter["message"])
    ANN.run("corral", "lease", "release", "--agent", WEB, json.loads(held.stdout)["lease"])


@pytest.mark.parametrize("view", VIEWS)
def test_a_name_is_shown_on_one_line_and_nothing_in_it_is_done(ground: Ground, named: Named, view: str) -> None:
    words, code = VIEWS[view]
    words = tuple(word.format(merge=named.merge, letter=named.letter) if "{" in word else word for word in words)
    done = ANN.run("corral", *words, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert ("FORGED" in said) or view not in NAMING, said
    assert not [line for line in said.splitlines() if line.startswith("FORGED")], said
    assert all(letter.isprintable() or letter in "\n\t" for letter in said), repr(said)
    assert ground.harm() == []


def test_what_was_done_with_it_is_in_the_trail(ground: Ground, named: Named) -> None:
    for verb, outcome, who in (("submit_merge", "200", "ann"), ("acquire_lease", "200", WEB)):
        assert Outcome(verb=verb, outcome=outcome).find(named.since, who), verb
