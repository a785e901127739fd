"""The demonstration behind `./script/demo`: three agents, three tasks, one repository, and nothing left afterwards.

It does what a person would do, with the same commands, and shows each of them. It waits for what agents print, never
for a clock. Whatever happens, Ctrl-C included, it takes down what it put up; its exit code says whether all went well.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from corral.demo.scratch import TEAM, Scratch, Trouble

_USAGE = """\
usage: ./script/demo [--once]

Shows three scripted agents work on one scratch repository: they take tasks, hold files, commit, and have their work
tested and merged. Waits for Enter before it takes them down, so that you can look around; --once runs through without
a person.
"""

_SPEC = f"""\
[team]
name = "{TEAM}"
repo = "."

[agents.builder]
count = 3
command = ["corral", "demo-agent"]
workspace = "worktree"
prompt = \"\"\"
There is work for you on the list of the team.
claim: 60
\"\"\"

[merge]
target = "main"
gates = ["python3 -m compileall -q ."]
"""

#: What there is to do. Two of them are about the same file, so one of them has to wait.
_TASKS = {
    "Add up an order": """\
hold src/orders.py: 60
wait: PACE
merge: main
append src/orders.py: def total(prices): return sum(prices)
commit: Add up an order
submit: 60
""",
    "Give a discount": """\
hold src/orders.py: 60
wait: PACE
merge: main
append src/orders.py: def discounted(price, percent): return price * (100 - percent) / 100
commit: Give a discount
submit: 60
""",
    "Explain how to order": """\
hold docs/ordering.md: 60
wait: PACE
write docs/ordering.md: Put things into the basket, then pay.
commit: Explain how to order
submit: 60
""",
}

_AGENTS = ("builder-1", "builder-2", "builder-3")
#: How long the agents think about a task: long enough to look, or as short as still shows the order of things.
_PACE, _PACE_ONCE = "8", "1"
#: More than the waits of an agent together: what takes longer is told by the agent.
_SECONDS = 240.0

_TINTS = dict(zip(_AGENTS, ("36", "33", "35"), strict=True))


class Stopped(BaseException):
    """A signal asks us to end. Not an Exception: nobody may take it for trouble and go on."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(argv: list[str]) -> int:
    """Show everything; 0 if all of it went well."""
    if argv and argv != ["--once"]:
        print(_USAGE, end="", file=sys.stdout if argv[0] in ("-h", "--help") else sys.stderr)
        return 0 if argv[0] in ("-h", "--help") else 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    code, scratch, once = 1, None, bool(argv)
    try:
        scratch = Scratch(_SPEC)
        _play(scratch, once)
        code = 0
    except Trouble as trouble:
        print(f"\n{_paint('1;31', 'That did not work:')} {trouble}", file=sys.stderr)
    except Stopped as stopped:
        print("\nStopping.", file=sys.stderr)
        code = 128 + stopped.number
    finally:
        # From here on the only way out is through the clean-up.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if scratch and not _clean_up(scratch):
            code = code or 1
    if code == 0:
        print("\nNothing of it is left on this machine. Your turn: corral init, in a repository of yours.")
    return code


def _play(scratch: Scratch, once: bool) -> None:
    _title("A repository, and a file that says who works on it")
    print(f"{scratch.repo}/corral.toml\n")
    with open(os.path.join(scratch.repo, "corral.toml"), encoding="utf-8") as file:
        print("".join(_paint("2", f"  {line.rstrip()}") + "\n" for line in file), end="")

    _title("Three agents start, each in a worktree of its own")
    _corral(scratch, "up")
    print()
    _corral(scratch, "ps")

    if not once:
        _title("While they work, look at them from another terminal")
        print(f"  export CORRAL_HOME={scratch.home} CORRAL_RUNTIME_DIR={scratch.runtime}")
        print(f"  export PATH={scratch.bin}:$PATH; cd {scratch.repo}\n")
        for command, what in (
            ("corral ps", "who is there and what they do"),
            ("corral attach builder-1", "sit down at a terminal; ctrl-b d leaves it"),
            ("corral logs -f", "read along"),
            ("corral task ls", "what there is to do, and who does it"),
            ("corral lease ls", "who holds which files"),
            ("corral merge ls", "what is on its way into main"),
            ("corral events", "the journal: everything that happened"),
            ("corral send builder-3 'say: hello'", "speak to one"),
        ):
            print(f"  {command:36}{_paint('2', what)}")

    _title("You put work on the list; each agent claims a task, and no two get the same")
    for title, text in _TASKS.items():
        _add_task(scratch, title, text.replace("PACE", _PACE_ONCE if once else _PACE))

    _title("They hold files, write, commit and hand in their branches; this is what they print")
    _watch(scratch)

    _title("All is done, tested and merged")
    _corral(scratch, "task", "ls", "--all")
    print()
    _corral(scratch, "merge", "ls", "--all")
    print()
    _show(scratch, "git", "log", "--oneline", "--graph", "main")
    print()
    _show(scratch, "cat", "src/orders.py")
    _check(scratch)

    if not once:
        print(f"\n{_paint('1', 'Press Enter')} to take the team down.", end=" ", flush=True)
        sys.stdin.readline()

    _title("And they leave")
    _corral(scratch, "down")


def _add_task(scratch: Scratch, title: str, text: str) -> None:
    print(f"$ corral task add '{title}' --body - <<END")
    print("".join(_paint("2", line) + "\n" for line in [*text.splitlines(), "END"]), end="", flush=True)
    code = scratch.run(scratch.corral("task", "add", title, "--body", "-"), text=text).returncode
    if code != 0:
        raise Trouble(f"corral task add ended with {code}")


def _watch(scratch: Scratch) -> None:
    """Show what the agents print until each has said that it is done."""
    working = set(_AGENTS)
    for agent, text in _log_lines(scratch, time.monotonic() + _SECONDS):
        if text and not text.startswith(("demo>", "you:", "working on")):
            print(f"{_paint(_TINTS.get(agent, '0'), f'{agent} │')} {text}", flush=True)
        if text.startswith("gave up:"):
            raise Trouble(f"{agent} {text}")
        if text == "done.":
            working.discard(agent)
        if not working:
            return
    raise Trouble(f"after {_SECONDS:.0f} seconds there is no word that they are done from {', '.join(sorted(working))}")


def _log_lines(scratch: Scratch, until: float) -> Iterator[tuple[str, str]]:
    """The lines of `corral logs -f`, as they come; ends when the time is up or the command ends."""
    logs = subprocess.Popen(
        scratch.corral("logs", "-f", "-n", "all", "--json"),
        cwd=scratch.repo,
        env=scratch.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    pending = b""
    with logs:
        assert logs.stdout
        try:
            while select.select([logs.stdout], [], [], max(until - time.monotonic(), 0))[0]:
                data = os.read(logs.stdout.fileno(), 1 << 16)
                if not data:
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    entry = json.loads(line)
                    yield entry["agent"], entry["text"].strip()
        finally:
            logs.terminate()


def _check(scratch: Scratch) -> None:
    """Believe git, not what was said: the work of every task is in the target branch, and in nobody's way."""
    landed = scratch.git("log", "--format=%s", "main").splitlines()
    for title in _TASKS:
        if title not in landed:
            raise Trouble(f"there is no commit {title!r} on main")
    if scratch.git("status", "--porcelain"):
        raise Trouble(f"main has moved, and the files in {scratch.repo} have not")


def _corral(scratch: Scratch, *arguments: str) -> None:
    print(f"$ corral {' '.join(arguments)}", flush=True)
    code = scratch.run(scratch.corral(*arguments)).returncode
    if code != 0:
        raise Trouble(f"corral {' '.join(arguments)} ended with {code}")


def _show(scratch: Scratch, *argv: str) -> None:
    print(f"$ {' '.join(argv)}", flush=True)
    scratch.run(["git", "--no-pager", *argv[1:]] if argv[0] == "git" else argv)


def _clean_up(scratch: Scratch) -> bool:
    """Take down what may still be up and remove the scratch directory; False, and it stays, if that failed."""
    if os.path.exists(scratch.home):
        listing = scratch.run(scratch.corral("ps", "--json"), capture=True)
        if listing.returncode == 0 and json.loads(listing.stdout):
            scratch.run(scratch.corral("down", "--discard"))
            listing = scratch.run(scratch.corral("ps", "--json"), capture=True)
        stopped = scratch.run(scratch.corral("daemon", "stop"), capture=True).returncode == 0
        if listing.returncode != 0 or json.loads(listing.stdout) or not stopped:
            print(
                f"The team could not be taken down. Its files are still in {scratch.directory}; try\n"
                f"  CORRAL_HOME={scratch.home} CORRAL_RUNTIME_DIR={scratch.runtime} corral down --team {TEAM}",
                file=sys.stderr,
            )
            return False
    with contextlib.suppress(FileNotFoundError):
        scratch.remove()
    return True


def _stop(number: int, _frame: object) -> None:
    raise Stopped(number)


def _title(text: str) -> None:
    print(f"\n{_paint('1;32', '▌')} {_paint('1', text)}\n", flush=True)


def _paint(style: str, text: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
