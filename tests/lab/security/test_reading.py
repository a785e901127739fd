"""Attacks: reading what is somebody else's."""

from collections.abc import Callable

import pytest

from tests.lab.security.attacks import BEN, CLEO, DAEMON, SPY, WEB, Attack, Nowhere, Outcome, Trail

DENIED = "Permission denied"

TABLE = (
    Attack(
        name="the workspace, as a file",
        who=BEN,
        what="cat $WORK/secret || ls $WORK || ls /srv/corral/ann || cd $WORK",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="the workspace, as the daemon's user",
        who=DAEMON,
        what="cat $WORK/secret || ls /srv/corral/ann || ls /srv/corral",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="the workspace, by a link of one's own",
        who=SPY,
        what="ln -s $WORK /tmp/l; cat /tmp/l/secret; code=$?; rm /tmp/l; exit $code",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="the output, as a file",
        who=BEN,
        what="cat $OUTPUT || ls ~ann || ls -R $RECORDINGS",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="the output, by the API",
        who=BEN,
        what="corral logs shop/api",
        says="may read the output of what is their own only",
        told=Trail(verb="logs", rule="junior.read"),
    ),
    Attack(
        name="the output, by the API, as somebody else's agent",
        who=SPY,
        what="$RAW GET '/v1/logs?team=shop&agent=api' '' \"x-corral-credential: $(cat $CORRAL_CREDENTIAL_FILE)\"",
        says="^404",
        told=Trail(verb="logs", rule="not_asked"),
    ),
    Attack(
        name="the output, by the API, as the agent beside it",
        who=WEB,
        what="corral logs shop/api",
        says="may read the output of themselves only",
        told=Trail(verb="logs", rule="agent.read"),
    ),
    Attack(
        name="the output, by who is no member",
        who=CLEO,
        what="corral logs shop/api",
        says="is no member",
        told=Trail(verb="logs", rule="not_a_member"),
    ),
    Attack(
        name="the screen",
        who=BEN,
        what="$RAW GET '/v1/screen?team=shop&agent=api' ''",
        says="^403 .*junior.read",
        told=Trail(verb="screen", rule="junior.read"),
    ),
    Attack(
        name="the recording",
        who=BEN,
        what="corral replay shop/api",
        says="may read the output of what is their own only",
        told=Trail(verb="list_recordings", rule="junior.read"),
    ),
    Attack(
        name="command lines of processes: that they are there is all that is told",
        who=BEN,
        what="""told=$($RAW GET '/v1/processes?team=shop' '')
        case $told in *'"hidden":true'*) ;; *) echo "none: $told"; exit 0;; esac
        echo "$told" | grep -o '"command":"[^"][^"]*"'""",
        says="^$",
        told=Outcome(verb="list_processes", outcome="200"),
    ),
    Attack(
        name="what happened to others, by the journal",
        who=BEN,
        what="corral events --team shop -n all --json | grep -v '\"data\": *{}' | grep -e process.started -e message.",
        says="^$",
        told=Outcome(verb="events", outcome=""),
    ),
    Attack(
        name="watching the session",
        who=BEN,
        what="script -qec 'corral attach --observe shop/api' /dev/null",
        says="may read the output of what is their own only",
        told=Trail(verb="join_session", rule="junior.read"),
    ),
    Attack(
        name="the credential, as a file",
        who=BEN,
        what="cat $LAUNCH/api.credential || cat $LAUNCH/api.env || ls /run/user/$ANN || ls /run/corral/keepers",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="secrets of the agent in /proc",
        who=BEN,
        what="for one in environ mem maps io auxv fd cwd/secret root/etc/shadow map_files; do"
        " cat /proc/$PID/$one /proc/$KEEPER/$one /proc/$PID/$one/* && exit; done; exit 1",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="secrets of the daemon in /proc",
        who=BEN,
        what="for one in environ mem fd io; do cat /proc/$DAEMON/$one && exit; done; ls /proc/$DAEMON/fd/ || exit 1",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="a credential or a secret in any argv or environment that can be read",
        who=BEN,
        what="cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>&1 | tr '\\0' '\\n' >/tmp/seen.$$;"
        " grep -c corral/daemon /tmp/seen.$$; grep -a -e 'corral\\.[0-9a-f]*\\.shop' -e canary-of /tmp/seen.$$ |"
        " grep -v AGENTS= | grep -v ENDED= | grep -v 'canary-of /tmp'; code=$?; rm /tmp/seen.$$;"
        " cat /proc/$PID/environ || exit $code",
        says=DENIED,
        told=Nowhere(),
    ),
    Attack(
        name="the trail, as files",
        who=BEN,
        what="corral audit verify || cat /var/lib/corral/audit/* || ls /var/lib/corral",
        says="may not read /var/lib/corral/audit",
        told=Nowhere(),
    ),
    Attack(
        name="the trail of others, by the API: one's own entries are all there is",
        who=BEN,
        what="corral audit export --format jsonl --who ann | grep .",
        says="^$",
        told=Outcome(verb="read_audit", outcome="200"),
    ),
)


@pytest.mark.parametrize("attack", TABLE, ids=lambda attack: attack.name.replace(" ", "-"))
def test_nobody_reads_what_is_somebody_elses(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
