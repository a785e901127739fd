"""Launch files: how a program gets its argv and its environment without either being seen.

A run is started as `/bin/sh FILE`. The file is 0600 in a 0700 directory, reads the agent's environment from another
such file, and runs the program. So nothing is in an argv or in tmux's environment, no length limit or quoting of tmux
applies, and a restart finds the environment again.

The shell stays until the program has ended *and* tmux has read its last words: when the first process of a pane ends,
tmux drops whatever it has not read of the terminal by then. See docs/adr/0005-launch-files.md. Without a terminal
nothing is dropped, nothing is asked, and the shell ends with its program.

An agent runs as the same user and can put anything in the place of these files. That is its own loss: here nothing is
waited for, no link is followed, and what cannot be read counts as gone.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from corral.domain.credentials import FILE_VARIABLE, LONGEST, names_in
from corral.domain.environment import RUN_VARIABLE
from corral.domain.errors import CorralError
from corral.domain.last_question import ANSWER, CALL, HEARD, QUESTION

log = logging.getLogger("corral.keeper")

#: Beside the launch file: the exit code, written before tmux can know it and there even if tmux is not.
_EXIT = ".exit"
#: Beside it: the pipe from which the shell reads a line before it starts anything.
_GATE = ".gate"
#: Beside it, for each agent: the credential of its present run.
_CREDENTIAL = ".credential"
#: Longer than any honest launch file up to its first line's end, and than any honest exit code.
_LONGEST_HEADER, _LONGEST_ENDING = 8 << 20, 64
#: Of an exit code, and of a count that is told to others.
_LARGEST_CODE, _LARGEST_COUNT = 255, 1 << 31
_EXPORT = re.compile(r"export ([A-Za-z_][A-Za-z0-9_]*)='((?:[^']|'\\'')*)'\n")
_OF_A_RUN = re.compile(r"[a-z0-9-]+\.([0-9a-f]{12})")


def _octal(text: bytes) -> str:
    """As the `printf` of any shell takes it."""
    return "".join(f"\\{byte:03o}" for byte in text)


#: Ask the terminal how it is (DSR), and call the keeper: tmux answers when it has read everything before the question,
#: the keeper when it has received everything before the call. They are waited for as long as either may be held up, and
#: not for ever: there may be no keeper, and what the program left behind can take an answer away.
#: -ixon, or a terminal that somebody halted with Ctrl-S takes no question. Without any answer, tmux gets a moment.
_UNTIL_READ = rf"""
trap '' HUP INT QUIT TERM TTIN TTOU
answered=
if command -p stty -icanon -echo -ixon min 0 time 50; then
  answer=
  wanted=$(printf '{_octal(ANSWER)}')
  printf '{_octal(CALL + QUESTION)}'
  while part=$(command -p dd bs=64 count=1) && [ "$part" ]; do
    answer=$answer$part
    case $answer in *"$wanted"*) answered=yes ;; esac
    case $answer in *"$wanted"*{HEARD.decode()}* | *{HEARD.decode()}*"$wanted"*) break ;; esac
  done
fi
[ "$answered" ] || command -p sleep 0.1
"""

#: How often the kernel killed in the cgroup of this shell, for want of memory: only from inside can it be read in time,
#: because the cgroup goes with its last process. No command but builtins, so it costs nothing.
_COUNT_OOM = r"""
killed=0
while IFS= read -r line; do
  case $line in 0::*)
    for top in /sys/fs/cgroup /sys/fs/cgroup/unified; do
      if [ -r "$top${line#0::}/memory.events" ]; then
        while IFS=' ' read -r name count; do
          [ "$name" = oom_kill ] && killed=$count
        done <"$top${line#0::}/memory.events"
        break
      fi
    done ;;
  esac
done </proc/self/cgroup
"""


#: What a bash that is `/bin/sh` sets for itself, and ends of if somebody else does. People export UID for containers.
_OF_THE_SHELL = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"))


def _line(name: str, value: str) -> str:
    """Shell that exports a variable: with this value, or with the shell's own where that is none to be changed."""
    line = f"export {name}={_quoted(value)}\n"
    if name in _OF_THE_SHELL:
        return f"if (export {name}=0) 2>/dev/null; then\n{line}else export {name}; fi\n"
    return line


def _told_at_once(name: str) -> str:
    """Shell that ends if there is no program of that name: what it goes through would find out, but much later."""
    if "/" in name or name.startswith("-"):
        return ""  # not looked for, or no name for `command`
    told = _quoted(f"{name}: not found")
    return f"command -v {_quoted(name)} >/dev/null || {{ printf '%s\\n' {told} >&2; exit 127; }}; "


class LaunchFiles:
    """The launch files of one team, below `directory`. Each run has a directory of its own below `own_directory`."""

    def __init__(self, directory: str, own_directory: str) -> None:
        self._directory = directory
        self._own_directory = own_directory
        #: By agent, the environment that was read last, and from which file.
        self._environments: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {}
        #: The lines of the environment that was written last: the next one is mostly the same.
        self._lines: dict[tuple[str, str], str] = {}
        self._gates: dict[str, int] = {}  # run -> the open pipe, which keeps what was written until it is read

    def write(
        self,
        *,
        agent: str,
        run: str,
        command: Sequence[str],
        shell: bool,
        working_directory: str,
        environment: Mapping[str, str] | None,
        gated: bool,
        note: str,
        terminal: bool = True,
        through: Sequence[str] = (),
        credential: str = "",
    ) -> str:
        """See `Launches.write`."""
        self._have_directory()
        environment_file = os.path.join(self._directory, f"{agent}.env")
        if environment is not None:
            self.keep_environment(agent, environment)
        elif not os.path.exists(environment_file):
            raise CorralError(
                f"the environment that {agent} was started with is gone", "corral up starts it with the present one"
            )
        program = ['"${SHELL:-/bin/sh}"', "-c", _quoted(command[0])] if shell else [_quoted(word) for word in command]
        path = self._path(agent, run)
        if gated:
            _make_pipe(path + _GATE)
        _write_private(
            path,
            f"{_header_of(tuple(command), shell, note)}\n"
            f"{f'read -r _ <{_quoted(path + _GATE)}' if gated else ''}\n"
            # A tmux that the agent starts is its own: ours, where the others are, is none of its business, nor is the
            # person's. Before the environment is read, so that whoever declares something else gets it.
            "unset TMUX TMUX_PANE\n"
            f"export TMUX_TMPDIR={_quoted(self.own_directory(run))}\n"
            # `command`, or a shell ends at once if the file is gone, and what it says of that is dropped.
            f"command . {_quoted(environment_file)} && cd {_quoted(working_directory)}\n"
            'set -- "$?"\n'  # no variable: the environment may have one of any name
            f"export {RUN_VARIABLE}={run}\n"
            f"{f'export {FILE_VARIABLE}={_quoted(self.credential_file(agent))}' if credential else ''}\n"
            # With a handler and not ignored: the program starts with the default actions, and this shell outlives it.
            # Not HUP: the kernel tells the end of a terminal to its first process, and to the others when that ends.
            "trap : INT QUIT TERM\n"
            # exec in a subshell: always the program of that name, never a builtin of the shell.
            # Its own words (`Terminated`) are not the program's: it has no standard error of its own meanwhile.
            "exec 3>&2 2>/dev/null\n"
            f'([ "$1" = 0 ] || exit 126; '
            f"{_told_at_once(command[0]) if through and not shell else ''}"
            f"exec {' '.join([*map(_quoted, through), *program])}) 2>&3 3>&-\n"
            "status=$?\n"
            f"{_COUNT_OOM}"
            f'echo "$status $killed" >{_quoted(path + _EXIT)}\n'
            f"{_UNTIL_READ if terminal else ''}"
            'exit "$status"\n',
        )
        if credential:
            _write_private(self.credential_file(agent), credential + "\n")
        # After the launch file, by which it is found again: however this process dies, it does not stay for good.
        _make_directory(self.own_directory(run))
        return path

    def keep_environment(self, agent: str, environment: Mapping[str, str]) -> None:
        """See `Launches.keep_environment`."""
        self._have_directory()
        known = self._lines
        lines = {one: known.get(one) or _line(*one) for one in environment.items()}
        self._lines = lines
        self._environments.pop(agent, None)
        _write_private(os.path.join(self._directory, f"{agent}.env"), "".join(lines.values()))

    def _have_directory(self) -> None:
        if not _is_directory(self._directory):
            _remove(self._directory)
            os.makedirs(self._directory, mode=0o700, exist_ok=True)

    def is_gated(self, agent: str, run: str) -> bool:
        """See `Launches.is_gated`."""
        return os.path.exists(self._path(agent, run) + _GATE)

    def open_gate(self, agent: str, run: str) -> None:
        """See `Launches.open_gate`."""
        try:
            # For reading as well: so it opens though nobody reads yet, and the line waits for whoever will.
            pipe = os.open(self._path(agent, run) + _GATE, os.O_RDWR | _SAFELY)
        except OSError:
            return
        self._close_gate(run)
        self._gates[run] = pipe
        with contextlib.suppress(OSError):  # it is full of lines already, or no pipe any more
            os.write(pipe, b"\n")

    def gate_passed(self, agent: str, run: str) -> None:
        """See `Launches.gate_passed`."""
        if self.is_gated(agent, run):
            _remove(self._path(agent, run) + _GATE)
        self._close_gate(run)

    def _close_gate(self, run: str) -> None:
        pipe = self._gates.pop(run, None)
        if pipe is not None:
            os.close(pipe)

    def _path(self, agent: str, run: str) -> str:
        return os.path.join(self._directory, f"{agent}.{run}")

    def own_directory(self, run: str) -> str:
        """See `Launches.own_directory`."""
        return os.path.join(self._own_directory, run)

    def credential_file(self, agent: str) -> str:
        """See `Launches.credential_file`. By agent and not by run: commands of an agent outlive a run of it."""
        return os.path.join(self._directory, agent + _CREDENTIAL)

    def credential_of(self, agent: str) -> str:
        """See `Launches.credential_of`."""
        return _contents(self.credential_file(agent), LONGEST).decode("ascii", "replace").strip()

    def command_of(self, agent: str, run: str) -> tuple[tuple[str, ...], bool] | None:
        """See `Launches.command_of`."""
        header = self._header(agent, run)
        return (tuple(header[0]), header[1]) if header else None

    def note_of(self, agent: str, run: str) -> str:
        """See `Launches.note_of`."""
        header = self._header(agent, run)
        return header[2] if header else ""

    def _header(self, agent: str, run: str) -> tuple[list[str], bool, str] | None:
        """Command, whether it is for a shell, and the note: the first line of a launch file. None if it is gone."""
        line, _, _ = _contents(self._path(agent, run), _LONGEST_HEADER).partition(b"\n")
        try:
            words, shell, note = json.loads(line.removeprefix(b"# "))
        except (ValueError, TypeError, RecursionError):
            return None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in [*words, note]):
            return None
        return words, shell is True, note

    def environment_of(self, agent: str) -> dict[str, str] | None:
        """See `Launches.environment_of`. Read back as `write` wrote it, and by no shell."""
        path = os.path.join(self._directory, f"{agent}.env")
        seen = _identity(path)
        known = self._environments.get(agent)
        if known is None or known[0] != seen:
            text = _contents(path, _LONGEST_HEADER).decode("utf-8", "surrogateescape")
            if not text:
                return None
            found = {name: value.replace("'\\''", "'") for name, value in _EXPORT.findall(text)}
            known = self._environments[agent] = (seen, found)
        return known[1]

    def exit_code(self, agent: str, run: str) -> int | None:
        """See `Launches.exit_code`."""
        ending = self._ending(agent, run)
        return ending[0] if ending else None

    def oom_kills(self, agent: str, run: str) -> int:
        """See `Launches.oom_kills`."""
        ending = self._ending(agent, run)
        return ending[1] if ending else 0

    def _ending(self, agent: str, run: str) -> tuple[int, int] | None:
        try:
            code, killed = map(int, _contents(self._path(agent, run) + _EXIT, _LONGEST_ENDING).split())
        except ValueError:
            return None
        return (code, killed) if 0 <= code <= _LARGEST_CODE and 0 <= killed <= _LARGEST_COUNT else None

    def forget_run(self, agent: str, run: str) -> None:
        """Remove what was kept for a run that ended."""
        self._close_gate(run)
        self._remove_own(run)
        names = names_in(self.credential_of(agent))
        if names is not None and names.run == run:
            _remove(self.credential_file(agent))
        for suffix in (_EXIT, _GATE, ""):
            _remove(self._path(agent, run) + suffix)

    def forget_agent(self, agent: str) -> None:
        """Remove everything of an agent."""
        _remove(self.credential_file(agent))
        _remove(os.path.join(self._directory, f"{agent}.env"))

    def forget_team(self) -> None:
        """Remove the whole directory."""
        self._lines = {}
        for run in list(self._gates):
            self._close_gate(run)
        for name in _names(self._directory):
            match = _OF_A_RUN.fullmatch(name)
            if match is not None:
                self._remove_own(match[1])
        _remove(self._directory)

    def _remove_own(self, run: str) -> None:
        _remove(self.own_directory(run))


@lru_cache(maxsize=16)  # a team has few different programs
def _header_of(command: tuple[str, ...], shell: bool, note: str) -> str:
    return f"# {json.dumps([command, shell, note])}"


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


#: Whatever is there: it is not waited for (a pipe), and not followed (a link).
_SAFELY = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def _contents(path: str, longest: int) -> bytes:
    """The first bytes of a regular file; empty if it is gone, or anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _SAFELY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, longest) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _identity(path: str) -> tuple[int, ...]:
    """Changes whenever a file is replaced; empty if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _write_private(path: str, text: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        _remove(path)
        descriptor = os.open(path, flags, 0o600)
    try:
        # Whatever is not taken in one go is written by the next: a file object would do that too, and takes longer
        # than the kernel, for each of the hundreds of files of a team.
        left = memoryview(text.encode("utf-8", "surrogateescape"))
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _make_directory(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        os.makedirs(path, mode=0o700, exist_ok=True)


def _make_pipe(path: str) -> None:
    try:
        if stat.S_ISFIFO(os.lstat(path).st_mode):
            return  # of a keeper that died before the run was started
    except FileNotFoundError:
        pass
    _remove(path)
    os.mkfifo(path, 0o600)


def _is_directory(path: str) -> bool:
    """True for a directory, and not for a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _names(path: str) -> list[str]:
    """What is in a directory, if it is one."""
    try:
        with _opened(path) as directory:
            return os.listdir(f"/proc/self/fd/{directory}")
    except OSError:
        return []


def _remove(path: str) -> None:
    """Remove whatever is at `path`, and nothing that it leads to. What cannot be removed is no reason to fail."""
    above, name = os.path.split(path)
    try:
        with _opened(above) as directory:
            _remove_in(directory, name)
    except (FileNotFoundError, NotADirectoryError):
        return  # nothing of ours can be there
    except (OSError, RecursionError) as error:
        log.warning("%s cannot be removed: %s", path, error)


def _remove_in(directory: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        with _opened(name, directory) as inside:
            for entry in os.listdir(f"/proc/self/fd/{inside}"):
                _remove_in(inside, entry)
        os.rmdir(name, dir_fd=directory)


@contextlib.contextmanager
def _opened(path: str, above: int | None = None) -> Iterator[int]:
    """A directory to do something in, also if somebody took our rights away. NotADirectoryError if it is a link."""
    directory = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        if os.fstat(directory).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(f"/proc/self/fd/{directory}", stat.S_IRWXU)
        yield directory
    finally:
        os.close(directory)
