"""`down` leaves nothing, whatever its processes do; and it touches nothing that is not ours."""

import json
import os
import signal
import time

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, corral_units, keeper_of, pid_from, pid_of, team, up
from tests.lab.support.units import units
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

_DEAF = 'trap "" TERM HUP; while :; do sleep 1; done'
_STUBBORN = {
    "deaf": f"echo $$ >pid; {_DEAF}",
    "setsid": f"setsid sh -c 'echo $$ >pid; {_DEAF}' & exec sleep 1000",
    "nohup": "nohup sh -c 'echo $$ >pid; exec sleep 1001' >/dev/null 2>&1 & exec sleep 1000",
    "daemon": f"(env -i /usr/bin/setsid /bin/sh -c 'echo $$ >pid; {_DEAF}' </dev/null >/dev/null 2>&1 &); exec sleep 9",
    "stopped": "sh -c 'echo $$ >pid; kill -STOP $$; exec sleep 1001' & exec sleep 1000",
    # A parent that never reaps, and a child that is a zombie when the team goes.
    "zombie": "exec python3 -c \"import os,time; os.fork() or os._exit(0); open('pid','w').write(str(os.getpid())); "
    'time.sleep(1000)"',
    # As fast as it is killed; bounded, so that the machine lives to tell.
    "forks": "echo $$ >pid; exec python3 -c \"import os,signal,time\nsignal.signal(15,signal.SIG_IGN)\n"
    "signal.signal(1,signal.SIG_IGN)\nend=time.time()+60\nwhile time.time()<end:\n"
    ' if os.fork(): time.sleep(0.002); os._exit(0)"',
}  # fmt: skip


@pytest.mark.parametrize("kind", _STUBBORN)
def test_nothing_is_left_of(lab_instance: LabInstance, kind: str) -> None:
    up(lab_instance, team(api=_STUBBORN[kind], docs=IDLE))
    pid = pid_from(f"{lab_instance.directory}/pid")
    began = time.monotonic()
    receipt = lab_instance.json("down", "--grace", "0.5")
    assert receipt.get("clean") is True, receipt
    assert time.monotonic() - began < 0.5 + 8
    assert not is_alive(pid)
    assert not [name for name in units(lab_instance.user) if name.startswith("corral-shop")]


def test_a_frozen_agent_is_woken_only_to_end(lab_instance: LabInstance) -> None:
    agents = up(lab_instance, team(api=IDLE, docs=IDLE))
    lab_instance.user.systemctl("freeze", "corral-shop-api.scope")
    receipt = lab_instance.json("down")
    assert receipt["clean"] is True
    assert not is_alive(pid_of(agents["api"]))


def test_two_at_the_same_time_get_the_same_receipt(lab_instance: LabInstance) -> None:
    up(lab_instance, team(api=_DEAF, docs=IDLE))
    command = ["corral", "down", "--grace", "1", "--json"]
    place = {"cwd": lab_instance.directory, "env": lab_instance.environment()}
    with lab_instance.user.start(*command, **place) as one, lab_instance.user.start(*command, **place) as two:  # type: ignore[arg-type]
        said = [json.loads(session.communicate(timeout=60)[0]) for session in (one, two)]
    assert said[0] == said[1]
    assert said[0]["clean"] is True


def test_a_keeper_that_is_killed_in_the_middle_is_followed_by_one_that_finishes(lab_instance: LabInstance) -> None:
    fugitive = "(env -i /usr/bin/setsid /bin/sleep 1003 &)"
    script = f"trap '' HUP; trap 'echo asked >asked' TERM; {fugitive}; while :; do sleep 1; done"
    agents = up(lab_instance, team(api=script, docs=IDLE))
    command = ["corral", "down", "--grace", "3", "--json"]
    with lab_instance.user.start(*command, cwd=lab_instance.directory, env=lab_instance.environment()) as session:
        wait_for(lambda: os.path.exists(f"{lab_instance.directory}/asked"), what="it was asked to end")
        os.kill(keeper_of(lab_instance), signal.SIGKILL)
        receipt = json.loads(session.communicate(timeout=60)[0])
    assert receipt.get("clean") is True, receipt
    assert not is_alive(pid_of(agents["api"]))
    lab_instance.corral("daemon", "stop")
    wait_for(lambda: not corral_units(lab_instance.user), what="every unit went")


def test_what_is_not_ours_but_works_in_the_directory_of_an_agent_is_named_and_not_ended(
    lab_instance: LabInstance,
) -> None:
    ann = lab_instance.user
    up(lab_instance, team(api=IDLE))
    with ann.start("sleep", "2000", cwd=lab_instance.directory) as session:
        editor = wait_for(
            lambda: [one.pid for one in ann.processes() if one.name == "sleep" and _works_in(one.pid, lab_instance)],
            what="the person's own process",
        )
        done = lab_instance.corral("down", "--json", check=False)
        assert all(is_alive(pid) for pid in editor)
        assert str(editor[0]) in done.stdout, done.stdout
        for pid in editor:
            os.kill(pid, signal.SIGKILL)
        session.wait(20)


def _works_in(pid: int, instance: LabInstance) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        ours = b"CORRAL_RUN" in file.read()
    return not ours and os.readlink(f"/proc/{pid}/cwd") == instance.directory
