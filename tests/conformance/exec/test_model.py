"""Any order of starting, reading, writing, signalling, and of killing whoever serves it, against a model."""

import base64
import contextlib
import shutil
import tempfile
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.conformance.exec.faces import Http, RefusedError
from tests.faults.support.population import kill_daemon, kill_keeper
from tests.support.instance import Instance
from tests.support.waiting import wait_for

_TEAM = '[team]\nname = "shop"\n[agents.a]\ncommand = ["sleep", "86400"]\n'


@dataclass
class Expected:
    """A `cat` and what it must have done: it gives back what it gets, and ends well with its input."""

    process: str
    given: bytes = b""
    #: It was told the end of its input.
    eof: bool = False
    #: The signal it was sent, if it was not told the end before.
    signal: str = ""
    #: What was read of it by its cursor.
    cursor: int = 0
    seen: bytes = b""
    removed: bool = False


class Life(RuleBasedStateMachine):
    """One team, its processes, and everybody who may die around them."""

    processes = Bundle("processes")
    instance: Instance
    face: Http

    @initialize()
    def up(self) -> None:
        self.known: dict[str, Expected] = {}

    def teardown(self) -> None:
        for one in self.known.values():
            if not one.removed:
                self.face.kill(one.process, grace=0)
                self.face.remove(one.process)

    # What somebody does

    @rule(target=processes)
    def start(self) -> str:
        process: str = self.face.exec(argv=["cat"], stdin=True, background=True)["process_id"]
        self.known[process] = Expected(process)
        return process

    @rule(process=processes, data=st.binary(max_size=200))
    def write(self, process: str, data: bytes) -> None:
        one = self.known[process]
        if one.removed or one.eof or one.signal:
            with pytest.raises(RefusedError):
                self.face.write(process, data)
        else:
            self.face.write(process, data)
            one.given += data

    @rule(process=processes)
    def tell_the_end(self, process: str) -> None:
        one = self.known[process]
        if not (one.removed or one.eof or one.signal):
            self.face.write(process, b"", eof=True)
            one.eof = True

    @rule(process=processes, name=st.sampled_from(["TERM", "KILL", "INT"]))
    def send(self, process: str, name: str) -> None:
        one = self.known[process]
        if one.removed:
            with pytest.raises(RefusedError):
                self.face.signal(process, name)
            return
        if one.eof or one.signal:
            self._ended(one)
            assert self.face.signal(process, name)["reached"] == 0
            return
        self._all_given_is_there(one)  # what it has not read yet would die with it
        assert self.face.signal(process, name)["reached"] == 1
        one.signal = name

    @rule(process=processes, limit=st.integers(1, 300))
    def read(self, process: str, limit: int) -> None:
        one = self.known[process]
        if one.removed:
            with pytest.raises(RefusedError):
                self.face.output(process)
            return
        page = self.face.output(process, after=one.cursor, limit=limit)
        data = _bytes_of(page)
        assert page["next"] == one.cursor + len(data)
        one.cursor, one.seen = page["next"], one.seen + data
        assert one.given.startswith(one.seen)

    @rule(process=processes)
    def remove(self, process: str) -> None:
        one = self.known[process]
        if one.removed:
            return
        if one.eof or one.signal:
            self._ended(one)
            self.face.remove(process)
            one.removed = True
        else:
            with pytest.raises(RefusedError):
                self.face.remove(process)

    # What befalls those who serve it

    @rule()
    def the_daemon_is_started_anew(self) -> None:
        self.instance.run("daemon", "stop")
        self.instance.run("daemon", "start")

    @rule()
    def the_daemon_is_killed(self) -> None:
        kill_daemon(self.instance)
        self.instance.run("daemon", "start")

    @rule()
    def the_keeper_is_killed(self) -> None:
        kill_keeper(self.instance)
        wait_for(self._is_known_again, what="the next keeper")

    # What must hold, whatever happened

    @invariant()
    def everything_is_as_it_should_be(self) -> None:
        if not hasattr(self, "known"):
            return
        listed = {one["process_id"]: one for one in self.face.list()}
        assert set(listed) == {one.process for one in self.known.values() if not one.removed}
        for one in self.known.values():
            if not one.removed and not one.eof and not one.signal:
                assert (listed[one.process]["running"], len(listed[one.process]["pids"])) == (True, 1)

    def _ended(self, one: Expected) -> None:
        ended = self.face.wait(one.process, 20)
        wanted = f"SIG{one.signal}" if one.signal else None
        assert (ended["running"], ended["signal"], ended["unknown"]) == (False, wanted, False)
        if not one.signal:
            assert ended["exit_code"] == 0
        self._all_given_is_there(one)

    def _all_given_is_there(self, one: Expected) -> None:
        def whole() -> bool:
            data = _bytes_of(self.face.output(one.process, after=0, limit=1 << 20))
            return data == one.given

        wait_for(whole, what="everything that it was given")

    def _is_known_again(self) -> bool:
        with contextlib.suppress(RefusedError):
            self.face.list()
            return bool(self.instance.json("ps")[0]["state"] == "running")
        return False


def _bytes_of(page: dict[str, object]) -> bytes:
    text = str(page["output"])
    return base64.b64decode(text) if page.get("encoding") == "base64" else text.encode()


@pytest.mark.slow
def test_any_life_of_processes_holds_to_the_model() -> None:
    directory = tempfile.mkdtemp(prefix="cx-", dir="/tmp")
    instance = Instance(directory)
    instance.spec(_TEAM)
    try:
        instance.run("up")
        Life.instance, Life.face = instance, Http(instance)
        run_state_machine_as_test(
            Life,
            settings=settings(max_examples=8, stateful_step_count=14, suppress_health_check=list(HealthCheck)),
        )
        assert instance.json("down")["clean"]
    finally:
        instance.close()
        shutil.rmtree(directory)
