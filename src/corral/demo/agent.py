"""`corral demo-agent`: a coding agent without a model. It looks, listens and works like one, from a script.

It owns its terminal like a real one, says `demo> ` when it can take a message, follows the instructions it finds in
it (see `script`), shows that it is working, says `done.` and is ready again. Messages that come meanwhile wait.
"""

import contextlib
import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable

from corral.demo import script
from corral.demo.branch import Branch
from corral.demo.inbox import End, Inbox, signals_as_bytes
from corral.demo.running import GiveUp
from corral.demo.screen import Screen, summary
from corral.demo.team import Team

#: Names a file for what was taken, so that a test can tell what an agent got, however it ended.
LOG_VARIABLE = "DEMO_AGENT_LOG"

_HELP = f"""\
usage: corral demo-agent [MESSAGE…]

A scripted agent for demonstrations and tests: no model, no key. It says `demo> ` when it can take a message; type or
paste one and press Enter. MESSAGE is taken as the first one. Escape interrupts its work, Ctrl-D ends it.

Every line of a message that is one of these is done, in order; all others are thought about:

{script.LANGUAGE}
Files stay below the working directory. For each message it prints its number, size and SHA-256. Without a terminal
every line that comes in is a message, and the end of the input is the end. If {LOG_VARIABLE} names a file, the SHA-256
of each message is added to it before anything is shown of it.
"""

#: More lines than this to think about are counted, not shown.
_THOUGHTS = 10
#: What a permission dialog offers; only the first is a yes.
_CHOICES = ("Yes", "No")


def main(argv: list[str]) -> int:
    """Run the agent until it is told to end; its exit code."""
    if argv[:1] in (["-h"], ["--help"]):
        print(_HELP, end="")
        return 0
    if argv and argv[0].startswith("-"):
        print(f"corral demo-agent: no such option: {argv[0]} (try --help)", file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    terminal = os.isatty(0) and os.isatty(1)
    with contextlib.ExitStack() as stack:
        wake_fd = stack.enter_context(signals_as_bytes(signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
        if terminal:
            from corral.demo.tty import raw_keys

            stack.enter_context(raw_keys(0))
        screen = Screen(sys.stdout, terminal)
        inbox = Inbox(0, terminal, wake_fd)
        if argv:
            inbox.messages.append(" ".join(argv))
        try:
            screen.open()
            return Agent(screen, inbox).run()
        except BrokenPipeError:
            return 128 + signal.SIGPIPE
        finally:
            with contextlib.suppress(OSError):
                screen.close()


class Agent:
    """One agent: takes messages from `inbox`, works on them, one after the other, and shows it on `screen`."""

    def __init__(self, screen: Screen, inbox: Inbox) -> None:
        self._screen = screen
        self._inbox = inbox
        self._branch = Branch(inbox)
        self._team = Team(inbox, screen.line)
        self._has_task = False
        self._count = 0
        inbox.complain = self._complain

    def run(self) -> int:
        """Work until the end; the exit code."""
        try:
            while True:
                self._work(self._next())
        except End as end:
            return end.code

    def _next(self) -> str:
        self._inbox.busy = False
        while not self._inbox.messages:
            if self._inbox.exhausted:
                raise End(0)
            self._screen.ready(self._inbox.composed)
            self._inbox.wait()
        return self._inbox.messages.popleft()

    def _work(self, message: str) -> None:
        self._inbox.busy, self._inbox.interrupted = True, False
        self._count += 1
        raw = message.encode()
        digest = hashlib.sha256(raw, usedforsecurity=False).hexdigest()
        if log := os.environ.get(LOG_VARIABLE):
            with open(log, "a", encoding="ascii") as file:
                file.write(digest + "\n")
        self._screen.line(f"you: {summary(message)}")
        self._screen.line(f"message {self._count}: {len(raw)} bytes, sha256 {digest[:12]}")
        why = self._follow(message)
        self._screen.line("interrupted." if self._inbox.interrupted else f"gave up: {why}" if why else "done.")

    def _follow(self, text: str) -> str:
        """Do what a text says, then give back what was held for it; why that did not work, empty if it did."""
        failures = [_failure(lambda: self._steps(script.parse(text))), _failure(self._team.let_go)]
        return next(filter(None, failures), "")

    def _steps(self, steps: list[script.Step]) -> None:
        thoughts = 0
        for number, step in enumerate(steps, 1):
            if isinstance(step, script.Think):
                thoughts += 1
                if thoughts > _THOUGHTS:
                    continue
            self._screen.working(number, len(steps))
            self._inbox.wait(0)
            if self._inbox.interrupted:
                return
            self._step(step)
        if thoughts > _THOUGHTS:
            self._screen.line(f"and about {thoughts - _THOUGHTS} more lines")

    def _step(self, step: script.Step) -> None:
        match step:
            case script.Think(text):
                self._screen.line(f"thinking about: {text[:200]}")
            case script.Say(text):
                self._screen.line(text)
            case script.Write():
                self._write(step)
            case script.Commit(message):
                self._screen.line(f"committed {self._branch.commit(message)} {message}")
            case script.Merge(branch):
                self._branch.merge(branch)
                self._screen.line(f"took in {branch}")
            case script.Claim(seconds):
                self._claim(seconds)
            case script.Hold(path, seconds):
                self._team.hold(path, seconds)
                self._screen.line(f"holding {path}")
            case script.Submit(seconds):
                self._screen.line(self._team.submit(seconds))
            case script.Wait(seconds):
                self._wait(seconds)
            case script.Ask(question):
                self._ask(question)
            case script.Exit(code):
                self._screen.line(f"leaving with {code}.")
                raise End(code)
            case script.Confused(text, why):
                raise GiveUp(f"{text[:200]}: {why}")

    def _ask(self, question: str) -> None:
        self._screen.line(f"permission needed: {question[:200]}")
        for number, text in enumerate(_CHOICES, 1):
            self._screen.line(f"  {number}. {text}")
        with self._inbox.choosing(len(_CHOICES)):
            while (choice := self._inbox.chosen) is None:
                if self._inbox.exhausted:
                    raise GiveUp("nobody is there to answer")
                self._screen.choose(len(_CHOICES))
                self._inbox.wait()
        self._screen.line(f"answered: {choice}")
        if choice != 1:
            raise GiveUp(f"it was not permitted: {question[:200]}")

    def _claim(self, seconds: float) -> None:
        if self._has_task:
            raise GiveUp("one task at a time: this one is not done")
        task = self._team.claim(seconds)
        self._screen.line(f"claimed {task.name}: {task.title}")
        self._has_task = True
        why = self._follow(task.text)
        self._has_task = False
        if self._inbox.interrupted:
            self._team.release(task)
        elif why:
            self._team.fail(task, why)
            raise GiveUp(why)
        else:
            self._team.done(task)
            self._screen.line(f"{task.name} is done")

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._inbox.interrupted and (left := until - time.monotonic()) > 0:
            self._inbox.wait(left)

    def _write(self, step: script.Write) -> None:
        here = os.path.realpath(".")
        path = os.path.realpath(step.path)
        if not path.startswith(here.rstrip("/") + "/"):
            raise GiveUp(f"{step.path} is not below {here}")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a" if step.append else "w", encoding="utf-8") as file:
                file.write(step.text + "\n")
        except OSError as error:
            raise GiveUp(f"cannot write {step.path}: {error.strerror}") from error
        self._screen.line(f"{'added to' if step.append else 'wrote'} {step.path}")

    def _complain(self, text: str) -> None:
        self._screen.bell()
        self._screen.line(text)


def _failure(work: Callable[[], None]) -> str:
    """Why some work was given up; empty if it was not."""
    try:
        work()
    except GiveUp as why:
        return str(why)
    return ""
