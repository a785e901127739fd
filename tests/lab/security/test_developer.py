"""Attacks: an agent that runs as its developer, and would be taken for them, or for the agent beside it.

`$ASK` asks without a credential, as the person would: wherever it is asked from, nothing may come of it.
"""

from collections.abc import Callable

import pytest

from tests.lab.security.attacks import WEB, Attack, Trail

#: Why it is refused: nothing of the agent's is to be seen any more, but neither is a person.
MANAGER = "by something that a user's service manager runs"
#: It descends from the agent, wherever it is.
WITHIN = "from within shop/web, without its credential"
#: It descends from what takes orphans of agents.
STARTED = "from within something that Corral started"
RUN = "systemd-run --user --quiet --collect --pipe --wait"
ATTACH = (
    "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager"
    " AttachProcessesToUnit ssau"
)


def taken(name: str, what: str, why: str, verb: str = "stop", says: str = "this was asked") -> Attack:
    return Attack(name=name, who=WEB, what=what, says=says, told=Trail(verb=verb, rule="identity", why=why))


TABLE = (
    taken("a unit of the developer's manager", f"{RUN} $ASK", MANAGER),
    taken(
        "a unit that a timer starts",
        "$UNWAITED systemd-run --user --quiet --collect --on-active=0 --timer-property=AccuracySec=1ms $ASK",
        MANAGER,
    ),
    taken("a unit of a session's name", f"{RUN} --unit=session-98.scope.service $ASK", MANAGER),
    taken("a scope", "systemd-run --user --quiet --scope $ASK", WITHIN),
    taken("moved into a scope of a session's name", "$IN_A_SESSIONS_NAME $ASK", WITHIN),
    taken("moved there, and nobody's child", "$UNWAITED setsid --fork $IN_A_SESSIONS_NAME $ASK", STARTED),
    taken("moved there, by the developer's manager", f"{RUN} $IN_A_SESSIONS_NAME $ASK", MANAGER),
    taken("a cgroup of its own", "$IN_A_CGROUP $ASK", WITHIN),
    taken("a cgroup of its own, by the developer's manager", f"{RUN} $IN_A_CGROUP $ASK", MANAGER),
    taken(
        "a session of the developer's, by writing there",
        'set -- $SESSIONS; [ -e "$1" ] || exit 0;'
        " for one; do echo $$ >$one/cgroup.procs && exit 0; mkdir $one/mine && exit 0; done;"
        " echo $$ >${OWN%/*}/cgroup.procs && exit 0; $ASK",
        WITHIN,
        says=r"(?s)session-\S*scope/cgroup.procs: Permission denied.*this was asked",
    ),
    taken(
        "a session of the developer's, by asking who makes them",
        f'set -- $SESSIONS; [ -e "$1" ] || exit 0; for one; do {ATTACH} ${{one##*/}} "" 1 $$ && exit 0; done; $ASK',
        WITHIN,
        says="(?s)Call failed: .*this was asked",
    ),
    taken(
        "outside of its cgroup, with its credential",
        f"{RUN} --setenv=CORRAL_CREDENTIAL_FILE=$CORRAL_CREDENTIAL_FILE $CORRAL ps",
        "which does not prove it: the process is outside of that agent's cgroup",
        "list_agents",
    ),
    taken(
        "in the cgroup of the agent beside it, with its own credential",
        "echo $$ >$PLACE_OF_API/cgroup.procs || exit 0; corral ps",
        "with the credential of shop/web, from within shop/api",
        "list_agents",
    ),
    taken(
        "in the cgroup of the agent beside it, without a credential",
        "echo $$ >$PLACE_OF_API/cgroup.procs || exit 0; $ASK",
        "from within shop/api, without its credential",
    ),
    taken("a connection of somebody who has gone", "python3 $GONE", "by a process that has ended", "list_agents"),
)


@pytest.mark.parametrize("attack", TABLE, ids=lambda attack: attack.name.replace(" ", "-"))
def test_no_agent_is_taken_for_its_developer_or_for_another(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
