"""Completion, tried in the real shells: commands, options, values, and the agents that are up."""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.policy.sources import read
from corral.cli.completable import SHIPPED_ROLES
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, document, table

#: What is typed, and what must be among the offers, as any shell gives them.
OFFERS = [
    ("corral da", {"daemon"}),
    ("corral re", {"replay", "restart", "resume"}),
    ("corral daemon sta", {"start", "status"}),
    ("corral daemon --json sto", {"stop"}),
    ("corral --json daem", {"daemon"}),
    ("corral completion ", {"bash", "zsh", "fish"}),
    ("corral help restar", {"restart"}),
    ("corral attach ", {"builder-1", "lead"}),
    ("corral attach buil", {"builder-1"}),
    ("corral send -t shop le", {"lead"}),
    ("corral stop lead buil", {"builder-1"}),
    ("corral pause toys/", {"toys/lead"}),
    ("corral stats --fol", {"--follow"}),
    ("corral stats -f buil", {"builder-1"}),
    ("corral events --agent buil", {"builder-1"}),
    ("corral attach sho", {"shop/builder-1"}),
    ("corral attach toys/", {"toys/lead"}),
    ("corral logs builder-1 toys/l", {"toys/lead"}),
    ("corral events --agent shop/", {"shop/builder-1"}),
    ("corral up ", {"writer", "writer-1", "writer-2", "critic"}),
    ("corral up critic writer-2 wri", {"writer", "writer-1", "writer-2"}),
    ("corral up -f spec-file.toml ", {"painter"}),
    ("corral up --file spec-file.toml --dry-run pain", {"painter"}),
    ("corral ps --team ", {"shop", "toys"}),
    ("corral ps -t sh", {"shop"}),
    ("corral up --restart", {"--restart-changed"}),
    ("corral logs lead --sc", {"--screen"}),
    ("corral proc sig", {"signal"}),
    ("corral proc wait p0", {"p0123456789"}),
    ("corral proc output --follow p", {"p0123456789", "pfedcba9876"}),
    ("corral proc rm p0123456789 pf", {"pfedcba9876"}),
    ("corral exec bui", {"builder-1"}),
    ("corral exec lead --back", {"--background"}),
    ("corral member show ", {"ann", "agent-builder"}),
    ("corral member rm agent-", {"agent-builder"}),
    ("corral member add robot --of an", {"ann"}),
    ("corral member add ann --role sen", {"senior"}),
    ("corral member add daemo", {"daemon"}),
]
#: Where nothing fits, or where a person's own text stands.
NO_OFFERS = [
    "corral attach nobody/",
    "corral up -f missing.toml pain",
    "corral up buil",
    "corral send lead buil",
    "corral logs --since buil",
    "corral send -- lead --te",
    "corral nonsense x",
]

TEAM = """
[team]
name = "words"
[agents.writer]
command = ["cat"]
count = 2
[agents.critic]
command = ["cat"]
"""
OTHER_TEAM = """
[team]
name = "pictures"
[agents.painter]
command = ["cat"]
"""

PROCESSES = ("p0123456789", "pfedcba9876")
AGENTS = (
    "shop builder-1 running ~ 1 ~ 0 c /w ~ ~ 0 ~ ~ ~ ~ ~ agent ~ ~ ~ ~ ~ ~ ~",
    "toys lead running ~ 2 ~ 0 c /w ~ ~ 0 ~ ~ ~ ~ ~ agent ~ ~ ~ ~ ~ ~ ~",
)


@pytest.fixture(autouse=True)
def _command(own_directory: Path, monkeypatch: pytest.MonkeyPatch, daemon: FakeDaemon) -> None:
    """`corral` in PATH, two agents that are up, a team that this directory declares, and one in another file."""
    daemon.answer("GET", "/v1/agents", table(*AGENTS))
    daemon.answer("GET", "/v1/processes", document([{"process_id": process} for process in PROCESSES]))
    daemon.answer("GET", "/v1/members", document([{"user": "ann"}, {"user": "agent-builder"}]))
    command = own_directory / "bin" / "corral"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom corral.cli.main import main\nsys.exit(main())\n")
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    (own_directory / "corral.toml").write_text(TEAM)
    (own_directory / "spec-file.toml").write_text(OTHER_TEAM)
    monkeypatch.chdir(own_directory)


def need(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


class TestBash:
    def offers(self, line: str) -> set[str]:
        """What bash offers; it splits words at `=` too."""
        words = [word for part in line.split(" ") for word in part.replace("=", " = ").split(" ")]
        script = (
            'eval "$(corral completion bash)"\n'
            'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))\n'
            "_corral\n"
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            [need("bash"), "--norc", "-c", script, "bash", *words], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return set(done.stdout.split())

    @pytest.mark.parametrize(("line", "expected"), OFFERS)
    def test_offers(self, line: str, expected: set[str]) -> None:
        assert self.offers(line) == expected

    @pytest.mark.parametrize("line", NO_OFFERS)
    def test_offers_nothing(self, line: str) -> None:
        assert self.offers(line) == set()

    def test_options_and_files(self) -> None:
        assert {"--team", "-t", "--json", "--help", "-h", "--quiet", "-q", "--wide", "-w"} == self.offers("corral ps -")
        assert self.offers("corral up -f spec") == {"spec-file.toml"}
        assert self.offers("corral ps --team=sh") == {"shop"}
        assert self.offers("corral ps --team=") == {"shop", "toys"}
        assert self.offers("corral up --file=spec-file.toml ") == {"painter"}


class TestFish:
    def offers(self, line: str) -> set[str]:
        script = "corral completion fish | source; complete -C $argv[1]"
        done = subprocess.run([need("fish"), "-N", "-c", script, line], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return {each.partition("\t")[0] for each in done.stdout.splitlines()}

    @pytest.mark.parametrize(("line", "expected"), OFFERS)
    def test_offers(self, line: str, expected: set[str]) -> None:
        assert self.offers(line) == expected

    @pytest.mark.parametrize("line", NO_OFFERS)
    def test_offers_nothing(self, line: str) -> None:
        assert self.offers(line) == set()

    def test_options_and_files(self) -> None:
        assert {"--team", "-t", "--json", "--help", "-h", "--quiet", "-q", "--wide", "-w"} >= self.offers("corral ps -")
        assert "spec-file.toml" in self.offers("corral up -f spec")
        assert self.offers("corral ps --team=sh") == {"--team=shop"}
        assert self.offers("corral up --file=spec-file.toml ") == {"painter"}


class Zsh:
    """An interactive zsh, since its completion works in no other."""

    def __init__(self, directory: Path, *, load: str = 'eval "$(corral completion zsh)"') -> None:
        # ctrl-g says how the line reads, between control characters that nothing else prints, and empties it.
        (directory / ".zshrc").write_text(
            "fpath=($ZDOTDIR/functions $fpath); autoload -Uz compinit; compinit -u -d $ZDOTDIR/dump\n"
            f"{load}\n"
            "say-line() { zle -I; print -rn -- $'\\x02'$BUFFER$'\\x03'; BUFFER=; }; zle -N say-line\n"
            "bindkey -e; bindkey '^G' say-line; unsetopt beep prompt_sp; LISTMAX=1000; PS1='READY> '\n"
        )
        self._received = ""
        self._terminal, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 150, 0, 0))
        self._process = subprocess.Popen(
            [need("zsh"), "-d", "-i"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "ZDOTDIR": str(directory), "TERM": "dumb"},
        )
        os.close(slave)
        self._until("READY> ")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def after_tab(self, line: str, times: int = 1) -> tuple[str, str]:
        """What the line becomes, and what is shown on the way, if tab is pressed at its end."""
        os.write(self._terminal, (line + "\t" * times + "\x07").encode())
        shown = self._until("\x02")
        return self._until("\x03").strip(), shown

    def _until(self, text: str) -> str:
        """What came before `text`."""
        deadline = time.monotonic() + 20
        while text not in self._received:
            left = deadline - time.monotonic()
            assert left > 0, f"zsh did not come to {text!r} but to {self._received!r}"
            if select.select([self._terminal], [], [], left)[0]:
                self._received += os.read(self._terminal, 1 << 16).decode("utf-8", "replace")
        before, _, self._received = self._received.partition(text)
        return before


class TestZsh:
    @pytest.fixture
    def zsh(self, own_directory: Path) -> Iterator[Zsh]:
        need("zsh")
        shell = Zsh(own_directory)
        yield shell
        shell.close()

    def test_offers(self, zsh: Zsh) -> None:
        for line, expected in OFFERS:
            became, shown = zsh.after_tab(line, times=min(2, len(expected)))
            if len(expected) == 1:
                assert became.split()[-1] in expected, line
            else:
                assert all(offer in shown for offer in expected), (line, shown)

    def test_offers_nothing(self, zsh: Zsh) -> None:
        for line in NO_OFFERS:
            assert zsh.after_tab(line)[0] == line

    def test_options_and_files(self, zsh: Zsh) -> None:
        shown = zsh.after_tab("corral ps -", times=2)[1]
        assert all(option in shown for option in ("--team", "--quiet", "--json", "--help"))
        assert "only the agents of this team" in shown
        assert zsh.after_tab("corral up -f spec")[0] == "corral up -f spec-file.toml"
        assert zsh.after_tab("corral ps --team=sh")[0] == "corral ps --team=shop"
        assert zsh.after_tab("corral up --file=spec-file.toml pai")[0] == "corral up --file=spec-file.toml painter"

    def test_works_as_a_file_among_the_functions(self, own_directory: Path) -> None:
        need("zsh")
        functions = own_directory / "functions"
        functions.mkdir()
        script = subprocess.run(["corral", "completion", "zsh"], capture_output=True, check=True).stdout
        (functions / "_corral").write_bytes(script)
        shell = Zsh(own_directory, load="")
        assert shell.after_tab("corral daem")[0] == "corral daemon"
        assert shell.after_tab("corral attach buil")[0] == "corral attach builder-1"
        shell.close()


def test_the_roles_that_are_offered_are_those_that_ship() -> None:
    assert tuple(read().tables.roles) == SHIPPED_ROLES


def test_as_json(corral: Corral) -> None:
    document = corral("completion", "fish", "--json").json
    assert document["shell"] == "fish"
    assert document["script"] == corral("completion", "fish").out


def test_of_an_unknown_shell(corral: Corral) -> None:
    outcome = corral("completion", "ksh")
    assert (outcome.code, "zsh" in outcome.err) == (2, True)
