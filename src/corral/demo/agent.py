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
from collections.abc import Iterator

from corral.demo import script
from corral.demo.commit import git_environment
from corral.demo.inbox import End, Inbox, signals_as_bytes
from corral.demo.screen import Screen, summary

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


class GiveUp(Exception):  # noqa: N818 - the outcome of a message
    """A step could not be done; the rest of the message is left."""


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
        try:
            self._steps(script.parse(message))
        except GiveUp as why:
            self._screen.line(f"gave up: {why}")
        else:
            self._screen.line("interrupted." if self._inbox.interrupted else "done.")

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
                self._commit(message)
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

    def _commit(self, message: str) -> None:
        configured = self._git(["config", "user.email"], git_environment(os.environ, True))[0] == 0
        env = git_environment(os.environ, configured)
        # It is not the person who commits, so it does not sign with the person's key.
        for command in (["add", "-A"], ["commit", "--quiet", "--no-gpg-sign", f"--message={message}"]):
            code, output = self._git(command, env)
            if code != 0:
                raise GiveUp(f"git {command[0]}: {_gist(output) or f'exit code {code}'}")
        _, head = self._git(["rev-parse", "--short", "HEAD"], env)
        self._screen.line(f"committed {head.strip()} {message}")

    def _git(self, arguments: list[str], env: dict[str, str]) -> tuple[int, str]:
        import subprocess
        import tempfile

        with tempfile.TemporaryFile() as output:
            try:
                git = subprocess.Popen(
                    ["git", *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env
                )
            except OSError as error:
                raise GiveUp(f"cannot run git: {error.strerror}") from error
            with git, _ended_with(git.pid) as exited:
                try:
                    while not self._inbox.wait(also=exited):
                        pass
                finally:
                    if git.poll() is None:
                        git.terminate()  # git removes its lock files on SIGTERM
            output.seek(0)
            return git.returncode, output.read().decode("utf-8", "replace")

    def _complain(self, text: str) -> None:
        self._screen.bell()
        self._screen.line(text)


def _gist(said: str) -> str:
    """The line of git's words that says what is wrong; explanations may follow it."""
    lines = said.strip().splitlines()
    wrong = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(wrong + lines[-1:]), "")


@contextlib.contextmanager
def _ended_with(pid: int) -> Iterator[int]:
    """A descriptor that becomes readable when the process `pid`, a child of ours, has ended."""
    fd = os.pidfd_open(pid)
    try:
        yield fd
    finally:
        os.close(fd)
