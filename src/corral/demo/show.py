"""The demonstration behind `./script/demo`: three agents, one repository, and nothing left afterwards.

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

Shows three scripted agents work on one scratch repository. Waits for Enter before it takes them down, so that you
can look around; --once runs through without a person.
"""

_SPEC = f"""\
[team]
name = "{TEAM}"
repo = "."

[agents.api]
command = ["corral", "demo-agent"]
workspace = "worktree"
prompt = \"\"\"
Give the shop a way to take orders.
wait: PACE
write src/orders.py: def total(prices): return sum(prices)
wait: PACE
append src/orders.py: def is_free(prices): return total(prices) == 0
commit: Add up an order
\"\"\"

[agents.docs]
command = ["corral", "demo-agent"]
workspace = "worktree"
prompt = \"\"\"
Tell people how to order.
wait: PACE
write docs/ordering.md: # How to order
append docs/ordering.md: Put things into the basket, then pay.
wait: PACE
commit: Explain how to order
\"\"\"

[agents.tests]
command = ["corral", "demo-agent"]
workspace = "worktree"
prompt = \"\"\"
Make sure that orders add up.
wait: PACE
write tests/test_orders.py: from src.orders import total
append tests/test_orders.py: def test_total(): assert total([1, 2]) == 3
wait: PACE
commit: Test that an order adds up
\"\"\"
"""

_AGENTS = ("api", "docs", "tests")
#: How long the agents take over a step: long enough to look, or as short as still shows the order of things.
_PACE, _PACE_ONCE = "4", "0.3"
_SECONDS = 120.0

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
        scratch = Scratch(_SPEC.replace("PACE", _PACE_ONCE if once else _PACE))
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

    if not once:
        _title("While they work, look at them from another terminal")
        print(f"  export CORRAL_HOME={scratch.home} CORRAL_RUNTIME_DIR={scratch.runtime}")
        print(f"  export PATH={scratch.bin}:$PATH; cd {scratch.repo}\n")
        for command, what in (
            ("corral ps", "who is there and what they do"),
            ("corral attach api", "sit down at a terminal; ctrl-b d leaves it"),
            ("corral logs -f", "read along"),
            ("corral events", "the journal: everything that happened"),
            ("corral send docs 'say: hello'", "speak to one"),
        ):
            print(f"  {command:32}{_paint('2', what)}")

    _title("Each got its work as its first message; this is what they print")
    _watch(scratch)

    _title("The team, and what it has done")
    _corral(scratch, "ps")
    branches = [_branch_with_work(scratch, workspace) for workspace in _workspaces(scratch)]
    print()
    _show(scratch, "git", "log", "--oneline", "--graph", "--all")

    if not once:
        print(f"\n{_paint('1', 'Press Enter')} to take the team down.", end=" ", flush=True)
        sys.stdin.readline()

    _title("You take their work, as you always would")
    print(f"$ git merge {' '.join(branches)}")
    before = scratch.git("rev-parse", "HEAD")
    scratch.git("merge", "--quiet", "--no-ff", "--no-gpg-sign", "--message=Take the work of the team", *branches)
    print(scratch.git("diff", "--stat", before, "HEAD"))

    _title("And they leave")
    _corral(scratch, "down")


def _watch(scratch: Scratch) -> None:
    """Show what the agents print until each has said that it is done."""
    working = set(_AGENTS)
    for agent, text in _log_lines(scratch, time.monotonic() + _SECONDS):
        if text and not text.startswith(("demo>", "you:", "working on")):
            print(f"{_paint(_TINTS.get(agent, '0'), f'{agent:>6} │')} {text}", flush=True)
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


def _workspaces(scratch: Scratch) -> list[str]:
    listing = scratch.run(scratch.corral("ps", "--json"), capture=True)
    if listing.returncode != 0:
        raise Trouble("corral ps does not answer")
    return [agent["workspace"] for agent in json.loads(listing.stdout)]


def _branch_with_work(scratch: Scratch, workspace: str) -> str:
    branch = scratch.git("-C", workspace, "rev-parse", "--abbrev-ref", "HEAD")
    if scratch.git("rev-list", "--count", f"main..{branch}") == "0":
        raise Trouble(f"there is no commit on {branch}")
    return branch


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
