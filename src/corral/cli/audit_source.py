"""Where `corral audit` reads from: the files, for whoever may read them; else the daemon, as far as it lets one."""

from collections.abc import Iterator

from corral.cli.command import Invocation
from corral.cli.output import remark
from corral.cli.values import ALL
from corral.client.answers import ask_present_daemon, records, stream_was_cut
from corral.client.wire import DaemonAbsentError, is_remote, target
from corral.domain.audit import Entry, from_object
from corral.domain.audit_filter import Wanted
from corral.domain.errors import BrokenTrailError, CorralError, NotFoundError, UnavailableError
from corral.domain.timestamps import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.domain.audit_verify import Writer


def entries(
    invocation: Invocation, *, default: int | None = None, after: int | None = None, trace: str = ""
) -> Iterator[Entry]:
    """The entries that the options of a command ask for. `default` is how many the last are, if nothing says so.

    `after` and `trace` are for commands that have no options of that name. What cannot be read of the files is told on
    standard error, but not with --json.
    """
    from corral.wiring_audit import entries as of_files
    from corral.wiring_audit import may_read

    places = invocation.places
    since, until = invocation.number("since"), invocation.number("until")
    last, after = invocation.integer("lines"), after or invocation.integer("after") or 0
    if last is None and since is None and not after:
        last = default
    last = None if last == ALL else last
    wanted = Wanted(
        since=_time(since),
        until=_time(until),
        who=invocation.text("who") or "",
        agent=invocation.text("agent") or "",
        verbs=invocation.texts("verb"),
        trace=trace or invocation.text("trace") or "",
        denied=invocation.flag("denied"),
    )
    directory = invocation.text("directory")
    follow = invocation.flag("follow")
    if directory or (may_read(places) and not is_remote()):

        def unreadable(count: int) -> None:
            if not invocation.json:
                remark(_left_out(count, directory or ""))

        path = directory or places.audit_dir
        yield from of_files(path, wanted, last=last, after=after, follow=follow, unreadable=unreadable)
        return
    request = target(
        "/v1/audit",
        [
            ("who", wanted.who or None),
            ("agent", wanted.agent or None),
            *(("verb", verb) for verb in wanted.verbs),
            ("trace", wanted.trace or None),
            ("denied", "1" if wanted.denied else None),
            ("after", str(after) if after else None),
            ("since", None if since is None else repr(since)),
            ("until", None if until is None else repr(until)),
            ("lines", None if last is None else str(last)),
            ("follow", "1" if follow else None),
        ],
    )
    for record in records(places, "GET", request):
        try:
            yield from_object(record)
        except (KeyError, TypeError, ValueError):
            raise UnavailableError(
                "the daemon's answer is no entry of an audit trail", "is it of another version? corral daemon status"
            ) from None
    if follow:
        raise stream_was_cut(places)


def writer(invocation: Invocation) -> "Writer":
    """What the daemon says of the trail that is to be verified, if it is the one that it writes."""
    from corral.domain.audit_verify import Writer

    if invocation.text("directory") or is_remote():
        return Writer()
    try:
        said = ask_present_daemon(invocation.places, "GET", "/v1/health").get("audit")
    except DaemonAbsentError:
        return Writer(
            silence="no daemon runs here that could say how far it got: what was written after the last checkpoint "
            "could have been cut off"
        )
    except BrokenTrailError as error:
        return Writer(alarm=error.message)
    except CorralError as error:
        return Writer(silence=f"the daemon does not say how far it got: {error.message}")
    match said:
        case {"number": int(number), "hash": str(digest)}:
            return Writer(number=number, hash=digest)
        case _:
            return Writer(silence="the daemon that runs here keeps no audit trail now")


def nothing_found(invocation: Invocation) -> NotFoundError:
    """For whoever asked for one entry, and there is none that they may see."""
    return NotFoundError(
        f"there is no entry {invocation.word('ENTRY')} that you may see", "corral audit ls shows the last ones"
    )


def _left_out(count: int, directory: str) -> str:
    lines = "1 line was left out that is no entry" if count == 1 else f"{count} lines were left out that are no entries"
    verify = f"corral audit verify --directory {directory}" if directory else "corral audit verify"
    return f"{lines}: edited, or torn by a crash. {verify} says where"


def _time(moment: float | None) -> str:
    return "" if moment is None else timestamp(moment)
