"""Attacks: the privileged helper, and the tricks of environments that programs of others start with."""

from collections.abc import Callable

from tests.lab.security.attacks import BEN, DAEMON, WEB, Attack, Syslog, denied, each, fruitless, kept_out

START = '{"verb": "keeper_stop", "user": "ann"}'
SILENT = "sudo, which tells nobody of who may not ask without a password (-n)"
#: What a loader, a shell or an interpreter would follow. The files are ben's, and each would leave /tmp/owned.
TRICKS = (
    "PATH=$TRAP:$PATH PYTHONPATH=$TRAP PYTHONHOME=$TRAP PYTHONSTARTUP=$TRAP/json.py PYTHONUSERBASE=$TRAP"
    " LD_PRELOAD=$TRAP/evil.so LD_LIBRARY_PATH=$TRAP LD_AUDIT=$TRAP/evil.so BASH_ENV=$TRAP/sh ENV=$TRAP/sh"
    " GIT_CONFIG_GLOBAL=$TRAP/gitconfig TMUX_TMPDIR=$TRAP HOME=$TRAP"
)


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
        what=f"""echo '{{"verb": "keeper_start", "user": "root"}}' | /usr/bin/env {TRICKS} /usr/bin/sudo -n $HELPER;"""
        " test -e /tmp/owned",
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
        f"cd $TRAP && env {TRICKS} PATH=$PATH corral ps; cd $TRAP && corral ps; test -e /tmp/owned",
        says=".",
        verb="list_agents",
        outcome="200",
    ),
    denied(
        "modules in a directory where the daemon's user works",
        DAEMON,
        "cd $TRAP && corral ps; test -e /tmp/owned",
        says=".",
        verb="list_agents",
        rule="not_a_member",
    ),
)


@each(TABLE)
def test_the_helper_does_nothing_for_who_should_not_ask(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
