"""Attacks: typing into what is somebody else's, ending it, or having it do something."""

from collections.abc import Callable

import pytest

from tests.lab.security.attacks import BEN, DAEMON, SPY, WEB, Attack, Nowhere, Trail

UNIT = "cd /tmp && systemctl --no-ask-password"


def asked(verb: str, rule: str, who: str, line: str, says: str = "may .* only|may not") -> Attack:
    """By a command of Corral's, which the policy denies."""
    return Attack(name=f"{line} ({who})", who=who, what=f"corral {line}", says=says, told=Trail(verb=verb, rule=rule))


TABLE = (
    Attack(
        name="typing by the socket of tmux",
        who=BEN,
        what="tmux -S $TMUX_OF_ANN send-keys owned Enter || tmux -S $TMUX_OF_ANN kill-server",
        says="Permission denied",
        told=Nowhere(),
    ),
    Attack(
        name="typing by the socket of tmux, as the daemon's user",
        who=DAEMON,
        what="tmux -S $TMUX_OF_ANN send-keys owned Enter",
        says="Permission denied",
        told=Nowhere(),
    ),
    Attack(
        name="typing by the terminal itself",
        who=BEN,
        what="for one in /dev/pts/[0-9]*; do test -O $one || { echo owned >$one && exit; }; done; exit 1",
        says="Permission denied",
        told=Nowhere(),
    ),
    Attack(
        name="speaking to the keeper of somebody else",
        who=BEN,
        what='python3 -c "import socket; '
        "socket.socket(socket.AF_UNIX).connect('/run/corral/keepers/$ANN/keeper.sock')\"",
        says="Permission denied",
        told=Nowhere(),
    ),
    Attack(
        name="signals to the agent, its keeper and the daemon",
        who=BEN,
        what="kill -9 $PID || kill -9 $KEEPER || kill -9 $DAEMON || kill -STOP $PID",
        says="not permitted",
        told=Nowhere(),
    ),
    Attack(
        name="signals to the agent, as the daemon's user",
        who=DAEMON,
        what="kill -9 $PID || kill -9 $KEEPER",
        says="not permitted",
        told=Nowhere(),
    ),
    Attack(
        name="stopping the daemon's unit",
        who=BEN,
        what=f"{UNIT} stop corral.service || {UNIT} kill corral.service || {UNIT} restart corral.service",
        says="[Aa]ccess denied|authentication",
        told=Nowhere(by="systemd"),
    ),
    Attack(
        name="ending the manager that somebody's agents are in",
        who=BEN,
        what=f"{UNIT} stop user@$ANN.service || loginctl --no-ask-password terminate-user ann",
        says="[Aa]ccess denied|authentication|not permitted",
        told=Nowhere(by="systemd"),
    ),
    Attack(
        name="units of somebody else's manager",
        who=BEN,
        what="XDG_RUNTIME_DIR=/run/user/$ANN systemctl --user stop corral-keeper.service",
        says="Permission denied|not permitted|Failed to connect",
        told=Nowhere(),
    ),
    asked("send", "junior.steer", BEN, "send shop/api owned"),
    asked("broadcast", "junior.steer", BEN, "broadcast --team shop owned"),
    asked("execute", "junior.process", BEN, "exec shop/api -- touch /tmp/owned"),
    asked("stop", "junior.run", BEN, "stop shop/api"),
    asked("restart", "junior.run", BEN, "restart shop/api"),
    asked("pause", "junior.run", BEN, "pause shop/api"),
    asked("down", "junior.run", BEN, "down --team shop"),
    asked("fork", "junior.run", BEN, "fork shop/api twin"),
    asked("stop_daemon", "junior.host", BEN, "daemon stop"),
    asked("member_add", "gives_too_much", BEN, "member add ben --role owner"),
    asked("stop", "not_a_member", DAEMON, "stop shop/api", "is no member"),
    asked("send", "agent.steer", WEB, "send shop/api owned"),
    asked("execute", "agent.process", WEB, "exec shop/api -- touch /tmp/owned"),
    asked("stop", "agent.run", WEB, "stop shop/api"),
    asked("down", "agent.run", WEB, "down --team shop"),
    asked("stop_daemon", "agent.host", WEB, "daemon stop"),
    asked("member_add", "gives_too_much", WEB, "member add ann --role owner"),
    asked("stop", "agent.run", SPY, "stop mill/spy"),
    Attack(
        name="driving somebody else's session",
        who=BEN,
        what="script -qec 'corral attach --drive shop/api' /dev/null",
        says="may type to or answer for what is their own only",
        told=Trail(verb="join_session", rule="junior.steer"),
    ),
    Attack(
        name="driving the session of the agent beside it",
        who=WEB,
        what="script -qec 'corral attach --drive shop/api' /dev/null",
        says="may not type to",
        told=Trail(verb="join_session", rule="agent.steer"),
    ),
    Attack(
        name="muting somebody else's session",
        who=BEN,
        what="script -qec 'corral attach --moderate shop/api' /dev/null",
        says="may moderate the sessions of what is their own only",
        told=Trail(verb="join_session", rule="junior.moderate"),
    ),
)


@pytest.mark.parametrize("attack", TABLE, ids=lambda attack: attack.name.replace(" ", "-").replace("/", "."))
def test_nobody_types_into_or_ends_what_is_somebody_elses(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
