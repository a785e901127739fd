"""Attacks: what can be planted, edited or swapped where the daemon, the helper and keepers write."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.lab.security.attacks import BEN, DAEMON, WEB, Attack, Syslog, denied, each, fruitless, kept_out
from tests.lab.security.ground import BEN as BENS
from tests.lab.security.ground import Ground
from tests.lab.support.people import repository, spec
from tests.lab.support.shared import system

DENIED = "Permission denied|not permitted"
PLACES = "/run/corral /run/corral/keepers /run/corral/keepers/$ANN /var/lib/corral /var/lib/corral/audit"
ROOTS = "/srv/corral /srv/corral/ann /etc/corral /usr/local/libexec/corral /var/lib/corral-host"
#: Ask the helper for a workspace of ben's, as the daemon does.
WORKSPACE = '"verb": "workspace", "user": "ben", "group": "ben", "mode": "0770"'

TABLE = (
    kept_out(
        "filling /run by what a keeper is given of it",
        BEN,
        "d=/run/corral/keepers/$(id -u)/filled; mkdir $d; n=0;"
        " while [ $n -lt 500 ] && touch $d/$n; do n=$((n + 1)); done; rm -r $d; [ $n = 500 ]",
        says="No space left on device",
    ),
    kept_out(
        "a file, a link or a directory in any place of Corral's",
        BEN,
        f"for one in {PLACES} {ROOTS}; do touch $one/owned && exit; ln -s /etc $one/owned && exit;"
        " mkdir $one/owned && exit; done; exit 1",
        says=DENIED,
    ),
    kept_out(
        "a place of Corral's moved away",
        BEN,
        f"for one in {PLACES} {ROOTS}; do mv $one $one.owned && exit; rmdir $one && exit;"
        " chmod 777 $one && exit; done; exit 1",
        says=DENIED,
    ),
    kept_out(
        "the socket of the daemon taken away, and one's own put there",
        BEN,
        "rm -f /run/corral/daemon.sock || mv /run/corral/daemon.sock /run/corral/owned"
        " || chmod 777 /run/corral/daemon.sock || ln -sf /tmp/owned /run/corral/daemon.sock",
        says=DENIED,
    ),
    kept_out(
        "the trail and the journal, as files",
        BEN,
        "for one in /var/lib/corral/audit/00000000000000000001.jsonl /var/lib/corral/corral.db; do"
        " echo '{}' >>$one && exit; truncate -s 0 $one && exit; rm -f $one && exit;"
        " cp $one /tmp/owned && exit; done; exit 1",
        says=DENIED,
    ),
    kept_out(
        "the trail and the journal, as files, by an agent",
        WEB,
        "echo '{}' >>/var/lib/corral/audit/00000000000000000001.jsonl || rm -f /var/lib/corral/corral.db",
        says=DENIED,
    ),
    fruitless(
        "the trail, by the API",
        BEN,
        "$RAW DELETE /v1/audit '' || $RAW POST /v1/audit '{}' || $RAW PUT /v1/events '{}'",
        says="^40.*Method Not Allowed",
        verb="unknown",
        outcome="400",
    ),
    denied(
        "the journal, by telling of repairs that nobody made",
        BEN,
        "$RAW POST /v1/doctor/fixes '{\"fixes\": []}'",
        says="junior.host",
        verb="note_fixes",
        rule="junior.host",
    ),
    denied(
        "the journal, by hooks in the name of somebody's agent",
        BEN,
        "$RAW POST '/v1/hooks/claude?event=PreToolUse&team=shop&agent=api' '{}'",
        says="^40",
        verb="hear_hook",
        rule="junior.join",
    ),
    Attack(
        name="a link in one's own place, where the helper makes a workspace",
        who=DAEMON,
        what=f"""echo '{{{WORKSPACE}, "path": "planted/x"}}' | sudo -n $HELPER""",
        says="failed",
        told=Syslog(identifier="corral-helper", line='workspace ben planted/x .*"ok": false'),
    ),
    Attack(
        name="a way out of one's own place, for the helper",
        who=DAEMON,
        what=f"""echo '{{{WORKSPACE}, "path": "../ann/shop"}}' | sudo -n $HELPER""",
        says="wrong_use",
        told=Syslog(identifier="corral-helper", line='a request: .*"wrong_use"'),
    ),
    fruitless(
        "a worktree where a link leads out of one's place",
        BEN,
        "cd ~/trap && corral up; code=$?; corral down --team trap --discard; exit $code",
        says=".",
        verb="up",
        outcome="failed",
    ),
)


@pytest.fixture(scope="module")
def planted(ground: Ground) -> Iterator[None]:
    """Ben has links in a place of his own: to /etc, and to what is ann's."""
    system("install", "-d", "-o", "ben", "-g", "ben", "-m", "0700", "/srv/corral/ben")
    BENS.run("ln", "-s", "/etc", "/srv/corral/ben/planted")
    BENS.run("ln", "-s", "/srv/corral/ann/shop", "/srv/corral/ben/trap")
    repository(BENS, "trap")
    spec(BENS, "trap", '[team]\nname = "trap"\nrepo = "."\n[agents.a]\ncommand = ["touch", "owned"]\n')
    yield
    BENS.run("corral", "down", "--team", "trap", "--discard", check=False)
    system("rm", "-rf", "/srv/corral/ben/planted", "/srv/corral/ben/trap", f"{BENS.home}/trap")


@each(TABLE)
def test_nothing_is_planted_edited_or_swapped(planted: None, fails: Callable[[Attack], None], attack: Attack) -> None:
    before = os.stat("/etc"), sorted(os.listdir("/srv/corral/ann/shop"))
    fails(attack)
    after = os.stat("/etc"), sorted(os.listdir("/srv/corral/ann/shop"))
    assert (before[0].st_uid, before[0].st_mode, before[1]) == (after[0].st_uid, after[0].st_mode, after[1])
