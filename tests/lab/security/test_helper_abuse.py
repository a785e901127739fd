"""Attacks: the privileged helper, and the tricks of environments that programs of others start with."""

import os
from collections.abc import Callable

import pytest

from tests.lab.security import trap
from tests.lab.security.attacks import BEN, DAEMON, WEB, Attack, Syslog, denied, each, fruitless, kept_out
from tests.lab.security.ground import BEN as BENS
from tests.lab.security.ground import Ground
from tests.lab.security.trap import TRICKS, led

START = '{"verb": "keeper_stop", "user": "ann"}'
SILENT = "sudo, which tells nobody of who may not ask without a password (-n)"
#: Somebody was caught, and somebody else was. The trap of `trap.py` is ben's, and leaves the uid of whoever goes in.
CAUGHT, CAUGHT_ANOTHER = "test -s $TRAP/sprung", "grep -vx $(id -u) $TRAP/sprung"
#: With these nothing of Python starts any more, and so nothing would be asked.
FATAL = ("PATH", "PYTHONHOME", "PYTHONPATH")


def told(line: str) -> Syslog:
    return Syslog(identifier="corral-helper", line=line)


def wrong(name: str, request: str) -> Attack:
    """By somebody who has taken over the daemon, and so may run the helper."""
    what = f"printf '%s' '{request}' | sudo -n $HELPER"
    return Attack(name=name, who=DAEMON, what=what, says="wrong_use|refused", told=told('"ok": false'))


TABLE = (
    Attack(
        name="the helper by sudo, as a member",
        who=BEN,
        what="echo wrong | sudo -S $HELPER",
        says="incorrect password|no password was provided|not in the sudoers",
        told=Syslog(identifier="sudo", line="ben : .*COMMAND=/usr/local/libexec/corral/helper"),
    ),
    kept_out(
        "the helper by sudo, as an agent",
        WEB,
        f"echo '{START}' | sudo -n $HELPER",
        says="password is required|not allowed|no new privileges",
        by=SILENT,
    ),
    Attack(
        name="the helper without sudo",
        who=BEN,
        what=f"echo '{START}' | SUDO_UID=$(id -u corral) SUDO_USER=corral SUDO_COMMAND=$HELPER $HELPER",
        says="refused",
        told=told("the helper is run by sudo, as root"),
    ),
    kept_out(
        "another program than the helper",
        DAEMON,
        "sudo -n id || sudo -n sh -c id || sudo -n $HELPER --version || sudo -n -u ann id || sudo -n -e /etc/shadow",
        says="password is required|not allowed",
        by=SILENT,
    ),
    wrong("the helper for root", '{"verb": "keeper_start", "user": "root"}'),
    wrong("the helper for itself", '{"verb": "keeper_start", "user": "corral"}'),
    wrong("the helper for who is no member", '{"verb": "keeper_start", "user": "dev"}'),
    wrong("the helper with a verb that there is not", '{"verb": "run", "user": "ann"}'),
    wrong("the helper with a shell in a name", '{"verb": "keeper_start", "user": "ann; touch /tmp/owned"}'),
    wrong("the helper with a format in a name", '{"verb": "linger", "user": "ann", "state": "#(touch /tmp/owned)"}'),
    wrong("the helper with a field twice", '{"verb": "keeper_start", "user": "ann", "user": "root"}'),
    wrong("the helper with what is no JSON", "x" * 5000),
    wrong(
        "the helper with a group of others",
        '{"verb": "workspace", "user": "ben", "path": "x", "group": "ann", "mode": "0770"}',
    ),
    wrong(
        "the helper with an odd mode",
        '{"verb": "workspace", "user": "ben", "path": "x", "group": "ben", "mode": "4777"}',
    ),
    Attack(
        name="the environment of the helper",
        who=DAEMON,
        what=f"""echo '{{"verb": "keeper_start", "user": "root"}}' | /usr/bin/env {led()} /usr/bin/sudo -n $HELPER;"""
        f" {CAUGHT}",
        says="refused",
        told=told("keeper_start root: .*refused"),
    ),
    Attack(
        name="the environment of the helper, kept by sudo",
        who=DAEMON,
        what=f"echo '{START}' | sudo -n -E $HELPER || echo '{START}' | sudo -n PYTHONPATH=$TRAP $HELPER",
        says="not allowed|password is required",
        told=Syslog(identifier="sudo", line="corral : "),
    ),
    fruitless(
        "the environment of one's own commands, for what others run",
        BEN,
        # He is caught himself, and the daemon, which is asked for a list and for a command, is not.
        f"cd $TRAP; env {led('PATH')} corral ps; {CAUGHT} || exit 0; corral ps || exit 0;"
        f" env {led(*FATAL)} corral ps || exit 0; env {led(*FATAL)} corral exec mill/spy -- true || exit 0;"
        f" {CAUGHT_ANOTHER}",
        says="spy",
        verb="list_agents",
        outcome="200",
    ),
    denied(
        "modules in a directory where the daemon's user works",
        DAEMON,
        f"cd $TRAP && corral ps; {CAUGHT}",
        says=".",
        verb="list_agents",
        rule="not_a_member",
    ),
)


@each(TABLE)
def test_the_helper_does_nothing_for_who_should_not_ask(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)


@pytest.mark.parametrize("name", TRICKS)
def test_whoever_lets_it_have_an_effect_is_led_into_the_trap(ground: Ground, name: str) -> None:
    """Else it would prove nothing that nobody is."""
    if name.startswith("LD_") and os.uname().machine != "x86_64":
        pytest.skip("the library of the trap is one for x86-64")
    value, follows = TRICKS[name]
    done = ground.attempt(BEN, follows.replace("{}", f"{name}={value}"))
    assert trap.caught(ground.trap) == {BENS.uid}, done.stdout
    done = ground.attempt(BEN, follows.replace("{}", "NOTHING="))
    assert trap.caught(ground.trap) == set(), done.stdout
