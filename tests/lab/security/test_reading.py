"""Attacks: reading what is somebody else's."""

from collections.abc import Callable

import pytest

from tests.lab.security.attacks import BEN, CLEO, DAEMON, SPY, WEB, Attack, asked, denied, each, fruitless, kept_out
from tests.lab.security.ground import CANARY, Ground
from tests.lab.support.shared import system

#: What /proc has of a process for its user alone. What lies below `cwd` and `root` is had by who can follow them.
PRIVATE = ("environ", "mem", "maps", "smaps", "io", "auxv", "fd", "map_files", "cwd", "root/etc/hostname")

#: As an agent shows who it is.
CREDENTIAL = '"x-corral-credential: $(cat $CORRAL_CREDENTIAL_FILE)"'


def private(pid: str) -> str:
    """Says which of these can be read of a process; it worked if any single one of them can be."""
    read = f"ls /proc/{pid}/$one/ || head -c 1 /proc/{pid}/$one || true </proc/{pid}/$one"
    return f"for one in {' '.join(PRIVATE)}; do {{ {read}; }} >/dev/null && echo read $one && got=1; done; test $got"


TABLE = (
    kept_out("the workspace, as a file", BEN, "cat $WORK/secret || ls $WORK || ls /srv/corral/ann || cd $WORK"),
    kept_out("the workspace, as the daemon's user", DAEMON, "cat $WORK/secret || ls /srv/corral/ann || ls /srv/corral"),
    kept_out(
        "the workspace, by a link of one's own",
        SPY,
        "ln -s $WORK /tmp/l; cat /tmp/l/secret; code=$?; rm /tmp/l; exit $code",
    ),
    kept_out("the output, as a file", BEN, "cat $OUTPUT || ls ~ann || ls -R $RECORDINGS"),
    asked("logs", "junior.read", BEN, "logs shop/api", "may read the output of what is their own only"),
    denied(
        "the output, by the API, as somebody else's agent",
        SPY,
        "$RAW GET '/v1/logs?team=shop&agent=api' '' \"x-corral-credential: $(cat $CORRAL_CREDENTIAL_FILE)\"",
        says="^404",
        verb="logs",
        rule="not_asked",
    ),
    asked("logs", "agent.read", WEB, "logs shop/api", "may read the output of themselves only"),
    asked("logs", "not_a_member", DAEMON, "logs shop/api", "is no member"),
    kept_out(
        "anything, by who is in the group and no member",
        CLEO,
        "$RAW GET /v1/health '' || $RAW GET '/v1/logs?team=shop&agent=api' ''",
    ),
    denied(
        "the screen",
        BEN,
        "$RAW GET '/v1/screen?team=shop&agent=api' ''",
        says="^403 .*junior.read",
        verb="screen",
        rule="junior.read",
    ),
    asked("list_recordings", "junior.read", BEN, "replay shop/api", "may read the output of what is their own only"),
    *(
        denied(
            f"a recording ({who})",
            who,
            f"$RAW GET '/v1/recordings/'$RECORDING'?team=shop&agent=api' '' {proof}",
            says=f"^{status} ",
            verb="read_recording",
            rule=rule,
        )
        for who, proof, status, rule in (
            (BEN, "", 403, "junior.read"),
            (WEB, CREDENTIAL, 403, "agent.read"),
            (SPY, CREDENTIAL, 404, "not_asked"),
            (DAEMON, "", 403, "not_a_member"),
        )
    ),
    asked(
        "attach",
        "junior.read",
        BEN,
        "attach --observe shop/api",
        "may read the output of what is their own only",
        terminal=True,
    ),
    fruitless(
        "command lines of processes: that they are there is all that is told",
        BEN,
        """told=$($RAW GET '/v1/processes?team=shop' '')
        case $told in *'"hidden":true'*) ;; *) echo "none: $told"; exit 0;; esac
        echo "$told" | grep -o '"command":"[^"][^"]*"'""",
        says="^$",
        verb="list_processes",
        outcome="200",
    ),
    fruitless(
        "what happened to others, by the journal",
        BEN,
        "corral events --team shop -n all --json | grep -v '\"data\": *{}' | grep -e process.started -e message.",
        says="^$",
        verb="events",
        outcome="",
    ),
    kept_out(
        "the credential, as a file",
        BEN,
        "cat $LAUNCH/api.credential || cat $LAUNCH/api.env || ls /run/user/$ANN || ls /run/corral/keepers",
    ),
    kept_out("secrets of the agent in /proc", BEN, private("$PID")),
    kept_out("secrets of the agent in /proc, as the daemon's user", DAEMON, private("$PID")),
    kept_out("secrets of the agent in /proc, as somebody else's agent", SPY, private("$PID")),
    kept_out("secrets of the keeper in /proc", BEN, private("$KEEPER")),
    kept_out("secrets of the keeper in /proc, as the daemon's user", DAEMON, private("$KEEPER")),
    kept_out("secrets of the daemon in /proc", BEN, private("$DAEMON")),
    kept_out(
        "a credential or a secret in any argv or environment that can be read",
        BEN,
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>&1 | tr '\\0' '\\n' >/tmp/seen.$$;"
        " grep -c corral/daemon /tmp/seen.$$; grep -a -e 'corral\\.[0-9a-f]*\\.shop' -e canary-of /tmp/seen.$$ |"
        " grep -v AGENTS= | grep -v ENDED= | grep -v 'canary-of /tmp'; code=$?; rm /tmp/seen.$$;"
        " cat /proc/$PID/environ || exit $code",
    ),
    kept_out(
        "the trail, as files", BEN, "cat /var/lib/corral/audit/* || ls /var/lib/corral/audit || ls /var/lib/corral"
    ),
    fruitless(
        "the trail, by verifying it: that the daemon was asked how far it got is all that comes of it",
        BEN,
        "corral audit verify",
        says="may not read /var/lib/corral/audit",
        verb="health",
        outcome="200",
    ),
    fruitless(
        "the trail of others, by the API: one's own entries are all there is",
        BEN,
        "corral audit export --format jsonl --who ann | grep .",
        says="^$",
        verb="read_audit",
        outcome="200",
    ),
)


@each(TABLE)
def test_nobody_reads_what_is_somebody_elses(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)


@pytest.mark.parametrize("pid", ["$PID", "$KEEPER", "$DAEMON"])
def test_what_is_private_in_proc_is_there_to_be_read_by_who_may(ground: Ground, pid: str) -> None:
    """Else it would prove nothing that nobody else can."""
    done = system("sh", "-c", ground.script(private(pid)))
    assert [line for line in done.stdout.splitlines() if line.startswith("read ")] == [f"read {one}" for one in PRIVATE]


def test_there_is_something_in_the_recording_for_who_may_read_it(ground: Ground) -> None:
    """Else it would prove nothing that nobody else can."""
    done = ground.attempt("ann", "$RAW GET '/v1/recordings/'$RECORDING'?team=shop&agent=api' ''")
    assert (done.returncode, CANARY in done.stdout) == (0, True), done.stdout
