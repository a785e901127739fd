"""Attacks: typing into what is somebody else's, ending it, or having it do something."""

from collections.abc import Callable

from tests.lab.security.attacks import BEN, DAEMON, SPY, WEB, Attack, asked, each, kept_out

UNIT = "cd /tmp && systemctl --no-ask-password"

TABLE = (
    kept_out(
        "typing by the socket of tmux",
        BEN,
        "tmux -S $TMUX_OF_ANN send-keys owned Enter || tmux -S $TMUX_OF_ANN kill-server",
    ),
    kept_out(
        "typing by the socket of tmux, as the daemon's user", DAEMON, "tmux -S $TMUX_OF_ANN send-keys owned Enter"
    ),
    kept_out(
        "typing by the terminal itself",
        BEN,
        "for one in /dev/pts/[0-9]*; do test -O $one || { echo owned >$one && exit; }; done; exit 1",
    ),
    kept_out(
        "speaking to the keeper of somebody else",
        BEN,
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('/run/corral/keepers/$ANN/keeper.sock')\"",
    ),
    kept_out(
        "signals to the agent, its keeper and the daemon",
        BEN,
        "kill -9 $PID || kill -9 $KEEPER || kill -9 $DAEMON || kill -STOP $PID",
        says="not permitted",
    ),
    kept_out(
        "signals to the agent, as the daemon's user", DAEMON, "kill -9 $PID || kill -9 $KEEPER", says="not permitted"
    ),
    kept_out(
        "stopping the daemon's unit",
        BEN,
        f"{UNIT} stop corral.service || {UNIT} kill corral.service || {UNIT} restart corral.service",
        says="[Aa]ccess denied|authentication",
        by="systemd",
    ),
    kept_out(
        "ending the manager that somebody's agents are in",
        BEN,
        f"{UNIT} stop user@$ANN.service || loginctl --no-ask-password terminate-user ann",
        says="[Aa]ccess denied|authentication|not permitted",
        by="systemd",
    ),
    kept_out(
        "units of somebody else's manager",
        BEN,
        "XDG_RUNTIME_DIR=/run/user/$ANN systemctl --user stop corral-keeper.service",
        says="Permission denied|not permitted|Failed to connect",
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
    asked(
        "attach",
        "junior.steer",
        BEN,
        "attach --drive shop/api",
        "may type to or answer for what is their own only",
        terminal=True,
    ),
    asked("attach", "agent.steer", WEB, "attach --drive shop/api", "may not type to", terminal=True),
    asked(
        "attach",
        "junior.moderate",
        BEN,
        "attach --moderate shop/api",
        "may moderate the sessions of what is their own only",
        terminal=True,
    ),
)


@each(TABLE)
def test_nobody_types_into_or_ends_what_is_somebody_elses(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
