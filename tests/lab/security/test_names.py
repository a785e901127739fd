"""Attacks: names, titles and messages that something would take for more than text; and asking for too much."""

import json
import shlex
from collections.abc import Callable

import pytest

from tests.lab.security.attacks import BEN, SPY, WEB, Attack, Outcome, asked, denied, fruitless
from tests.lab.security.ground import Ground

#: What tmux, a shell, git, systemd or a path would do something with.
HOSTILE = ("#(touch /tmp/owned)", "$(touch /tmp/owned)", "a;touch /tmp/owned", "../../etc", "-rf", "a\nb", "a%n", "")


def up(team: str, agent: str = "a", more: str = "") -> str:
    """Past the command line, which would say no as well."""
    text = f"[team]\nname = {json.dumps(team)}\n[agents.{json.dumps(agent)}]\ncommand = ['true']\n{more}"
    body = shlex.quote(json.dumps({"file": "/home/ben/names/corral.toml", "text": text}))
    return f'said=$($RAW POST /v1/up {body}); echo "$said"; ! echo "$said" | grep -q \'"code":"bad_spec"\''


def named(kind: str, name: str, what: str) -> Attack:
    told = Outcome(verb="up", outcome="400")
    return Attack(name=f"{kind} {name!r}", who=BEN, what=what, says="bad_spec", told=told)


TABLE = (
    *(named("a team called", name, up(name)) for name in HOSTILE),
    *(named("an agent called", name, up("names", name)) for name in HOSTILE),
    named("a branch", "--upload-pack", up("names", more="[merge]\ntarget = '--upload-pack=touch /tmp/owned'\n")),
    fruitless(
        "a message with a format of tmux",
        BEN,
        "corral send mill/spy '#(touch /tmp/owned)'; corral ps >/dev/null; test -e /tmp/owned",
        says="",
        verb="send",
        outcome="200",
    ),
    fruitless(
        "a title with a format of tmux",
        BEN,
        """corral send mill/spy "printf '\\033]2;#(touch /tmp/ow''ned)\\007'";"""
        " corral ps --wide >/dev/null; corral logs mill/spy >/dev/null; test -e /tmp/owned",
        says="",
        verb="send",
        outcome="200",
    ),
    asked("acquire_lease", "junior.join", BEN, "lease acquire --team shop '**'", "may take part in the work of"),
    asked("add_task", "junior.join", BEN, "task add --team shop owned", "may take part in the work of"),
    fruitless(
        "a lease of a file that is outside of the team's",
        WEB,
        "corral lease acquire ../../../../etc/shadow",
        says="corral: ",
        verb="acquire_lease",
        outcome="400",
    ),
    denied(
        "commands that another agent is to pay for",
        SPY,
        "for one in 1 2 3; do corral exec shop/api -- sleep 100 && exit; done; exit 1",
        says="no team shop is up",
        verb="execute",
        rule="not_asked",
    ),
)


@pytest.mark.parametrize("attack", TABLE, ids=range(len(TABLE)))
def test_names_and_messages_are_text_and_nobody_spends_for_others(
    ground: Ground, fails: Callable[[Attack], None], attack: Attack
) -> None:
    fails(attack)
