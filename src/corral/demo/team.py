"""What a demo agent asks of its team: a task, files to hold, a merge. With the commands that every agent has."""

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from corral.demo.inbox import Inbox
from corral.demo.running import GiveUp, Ran, run
from corral.domain.environment import PROGRAM_VARIABLE
from corral.own_command import own_command

#: The exit code of what somebody else stands in the way of.
_REFUSED = 4


class Task(NamedTuple):
    """A task that is this agent's."""

    name: str
    token: int
    title: str
    #: What is to be done, in the language of demo agents.
    text: str


class Team:
    """The team, as seen by one agent of it. What does not work out is a `GiveUp` that says why.

    `tell` is called with what a person should know while it goes on.
    """

    def __init__(self, inbox: Inbox, tell: Callable[[str], None]) -> None:
        self._inbox = inbox
        self._tell = tell
        #: The token of each lease that it holds.
        self._held: dict[str, int] = {}

    def claim(self, seconds: float) -> Task:
        """The next task, or the first that comes within `seconds`."""
        claim = self._ask("task", "claim", "--wait", f"{seconds:g}", patient=False)
        return Task(claim["task"], claim["token"], claim["title"], claim["body"])

    def done(self, task: Task) -> None:
        """Say that a task is done."""
        self._ask("task", "done", task.name, "--token", str(task.token))

    def fail(self, task: Task, why: str) -> None:
        """Say that it did not work; somebody may try again."""
        self._ask("task", "fail", task.name, "--token", str(task.token), f"--note={why}")

    def release(self, task: Task) -> None:
        """Give a task back, as if nobody had tried."""
        self._ask("task", "release", task.name, "--token", str(task.token))

    def hold(self, path: str, seconds: float) -> None:
        """Hold a file, if need be after others that have it, for whom it waits so long."""
        asked = self._corral("lease", "acquire", path)
        if asked.code == _REFUSED:
            self._tell(f"waiting for {path}: {_error(asked).get('holder', 'somebody')} was first")
            asked = self._corral("lease", "acquire", "--wait", f"{seconds:g}", path, patient=False)
        lease = _answer(asked)
        self._held[lease["lease"]] = lease["token"]

    def let_go(self) -> None:
        """Give back all that it holds."""
        if held := list(self._held):
            self._held.clear()
            self._ask("lease", "release", *held)

    def submit(self, seconds: float) -> str:
        """Have the branch merged, as long as what it holds is held, and wait so long for it; what came of it."""
        tokens = [f"--token={token}" for token in self._held.values()]
        merge = self._ask("merge", "submit", "--wait", f"{seconds:g}", *tokens, patient=False)
        if merge["merge"] is None:
            return f"{merge['branch']} was merged before"
        return f"{merge['merge']}: merged into {merge['target']} as {merge['commit'][:7]}"

    def _ask(self, *words: str, patient: bool = True) -> dict[str, Any]:
        return _answer(self._corral(*words, patient=patient))

    def _corral(self, *words: str, patient: bool = True) -> Ran:
        program = os.environ.get(PROGRAM_VARIABLE)
        argv = [program, *words] if program else own_command(*words)
        return run([*argv, "--json"], os.environ, self._inbox, patient=patient)


def _answer(asked: Ran) -> dict[str, Any]:
    if asked.code != 0:
        raise GiveUp(_error(asked)["message"])
    answer: dict[str, Any] = json.loads(asked.output)
    return answer


def _error(asked: Ran) -> dict[str, Any]:
    """The error object of a command that failed; one that was killed has none, and is told by what is known."""
    try:
        error: dict[str, Any] = json.loads(asked.errors)["error"]
    except ValueError:
        return {"message": asked.errors.strip() or f"corral ended with {asked.code}"}
    return error
