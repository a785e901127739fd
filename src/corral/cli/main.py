"""`corral`: find the command, run it, and turn whatever happens into output and an exit code.

Everything that every command shares about ending is here: errors as text or JSON, Ctrl-C, a reader that went away.
"""

import io
import os
import sys

from corral.cli.commands import named
from corral.cli.parse import asks_for_json, parse
from corral.domain.errors import CorralError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

#: As shells count them: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED = 130
READER_GONE = 141


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run `corral` with these words and give its exit code. Without any: with those of the process, which then ends."""
    if argv is None:
        _end_process(_outcome(sys.argv[1:]))
    return _outcome(argv)


def _end_process(code: int) -> "NoReturn":
    """End at once. Python would take itself apart first, and that takes a tenth of the time of `ps`."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            continue  # whoever could not be told knows it from the exit code
    os._exit(code)


def _outcome(words: "Sequence[str]") -> int:
    try:
        try:
            _prepare_streams()
            code = _run(words)
            sys.stdout.flush()
            return code
        except CorralError as error:
            # What the command did say comes before what went wrong.
            sys.stdout.flush()
            _report(error, words)
            return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return READER_GONE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _report(CorralError(f"{where}{error.strerror or error}"), words)
        try:
            sys.stdout.flush()
        except OSError:
            _forget_stdout()
        return CorralError.exit_code
    except Exception as error:
        if os.environ.get("CORRAL_TRACEBACK"):
            raise
        _report(_bug(error), words)
        return CorralError.exit_code


def _run(words: "Sequence[str]") -> int:
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    leading = words[:at]
    if at == len(words) or "--help" in leading or "-h" in leading or "--version" in leading:
        name, rest = _without_command(leading)
    else:
        name, rest = words[at], [*leading, *words[at + 1 :]]
    command = named(name).load()
    invocation = parse(command, rest)
    if invocation.wants_help or invocation.command.run is None:
        from corral.cli.help import show_command

        return show_command(invocation.command, as_json=asks_for_json(words))
    if os.environ.get("CORRAL_URL"):
        from corral.cli.from_afar import must_work_from_afar

        must_work_from_afar(invocation.command)
    return invocation.command.run(invocation)


def _without_command(leading: "Sequence[str]") -> "tuple[str, list[str]]":
    """`corral --help`, `corral --version` and a bare `corral` as the commands they stand for."""
    asked = ("--help", "-h", "--version")
    name = "version" if "--version" in leading else "help"
    return name, [word for word in leading if word not in asked]


def _prepare_streams() -> None:
    # A stream that was closed (`>&-`) is None; writing to nowhere is what its owner asked for.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for the life of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the life of the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path that is no UTF-8, or a locale without arrows, must not end a command.
            stream.reconfigure(errors="replace")


def _report(error: CorralError, words: "Sequence[str]") -> None:
    from corral.cli.failure import describe

    try:
        sys.stderr.write(describe(error, as_json=asks_for_json(words)))
        sys.stderr.flush()
    except OSError:
        # Nobody can be told; the exit code still says it.
        return


def _forget_stdout() -> None:
    """Keep the interpreter from flushing, and failing, once more at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _bug(error: Exception) -> CorralError:
    return CorralError(
        f"unexpected {type(error).__name__}: {error}",
        "this is a mistake in Corral; CORRAL_TRACEBACK=1 shows where, please report it with that",
    )
