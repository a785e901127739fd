"""The one error tree.

Every error that a person can meet says what went wrong, which thing it is about, and what to do next. Its
class fixes the word scripts match on (`code`) and the exit code they branch on; the text is for people and may
change. This module is on every hot path, so it imports nothing.
"""


class CorralError(Exception):
    """Something went wrong that is not the caller's fault. Look at `corral events` for what led to it."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, remedy: str = "", **details: object) -> None:
        super().__init__(message)
        #: What went wrong and with which thing, in one sentence.
        self.message = message
        #: What the reader can do about it; empty only where there is nothing to do.
        self.remedy = remedy
        #: Fields that join the error object of `--json` (a holder, a path, …): a contract where documented.
        self.details = details
        #: The user whose keeper says so, on a shared server; empty if it is not a keeper's word. Crosses no wire.
        self.said_by = ""

    def as_json(self) -> dict[str, object]:
        """The error object of the contract: `{"error": {"code", "message", "remedy"}}` without its wrapper."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy, **self.details}


class WrongUseError(CorralError):
    """The command or the request cannot be understood. Nothing was changed."""

    code = "wrong_use"
    exit_code = 2


class BadSpecError(WrongUseError):
    """`corral.toml` says something that cannot be. Nothing was started."""

    code = "bad_spec"


class BadPolicyError(WrongUseError):
    """A policy says something that cannot be, or cannot be read. Nothing is decided by it."""

    code = "bad_policy"


class NotFoundError(CorralError):
    """There is no such team, agent, event or file."""

    code = "not_found"
    exit_code = 3


class RefusedError(CorralError):
    """Somebody else holds it, or it is not allowed."""

    code = "refused"
    exit_code = 4


class DeniedError(RefusedError):
    """The policy of a shared server does not allow it. Nothing was changed."""

    code = "denied"


class UnauthorisedError(RefusedError):
    """Over TCP, nobody is known by the token that was shown, or none was. Nothing was changed."""

    code = "unauthorised"


class ResidueError(CorralError):
    """Something was left behind; the receipt names it."""

    code = "residue"
    exit_code = 5


class BrokenTrailError(CorralError):
    """The audit trail does not hold: something of it was edited, removed, reordered, replaced or cut off."""

    code = "broken_trail"
    exit_code = 7


class UnavailableError(CorralError):
    """The daemon, a keeper or tmux did not answer. What it looks after may well be alive."""

    code = "unavailable"
    exit_code = 6


def outline(error: BaseException) -> str:
    """What callers may be told of an exception that nobody foresaw: its kind, and what the system itself says.

    The rest may have another's path, a piece of a file or a value in it, and is for the log alone.
    """
    if isinstance(error, OSError):
        words = error.strerror or ""
    else:
        words = str(error) if type(error).__module__ == "sqlite3" else ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _family(root: type[CorralError]) -> dict[str, type[CorralError]]:
    known = {root.code: root}
    for child in root.__subclasses__():
        known.update(_family(child))
    return known


def from_json(error: dict[str, object]) -> CorralError:
    """Rebuild an error that crossed a wire; a code that only the other side knows is a failure of that name."""
    code = str(error.get("code", CorralError.code))
    kind = _family(CorralError).get(code, CorralError)
    # `self` is no field of ours either, and would be taken for the error itself.
    details = {k: v for k, v in error.items() if k not in ("code", "message", "remedy", "self")}
    rebuilt = kind(str(error.get("message", "")), str(error.get("remedy", "")), **details)
    rebuilt.code = code
    return rebuilt
