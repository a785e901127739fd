"""The daemon's answers as JSON: one document, or a stream of records. Errors come out as `CorralError`s.

What parses them is loaded with the first answer that has to be: `corral lease check` needs none if all is well.
"""

import os

from corral.client.absence import error_of_absence, how_to_start
from corral.client.encoding import encoded
from corral.client.wire import ANSWER_SECONDS, DaemonAbsentError, Response, is_remote, request, stream
from corral.domain.errors import CorralError, RefusedError, UnavailableError, WrongUseError, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from corral.client.exchange import Exchange
    from corral.places import Places

Record = dict[str, object]


def ask(
    places: "Places", method: str, target: str, body: object = None, seconds: float | None = ANSWER_SECONDS
) -> Record:
    """The one JSON object that answers; `body` goes out as it is if it is bytes, else as JSON."""
    try:
        return ask_present_daemon(places, method, target, body, seconds)
    except DaemonAbsentError:
        raise error_of_absence(places) from None


def ask_unparsed(places: "Places", method: str, target: str, body: bytes = b"") -> bytes:
    """The JSON document that answers, as it came."""
    try:
        response = request(places, method, target, body)
    except DaemonAbsentError:
        raise error_of_absence(places) from None
    raise_refusal(response)
    return response.body


def ask_present_daemon(
    places: "Places", method: str, target: str, body: object = None, seconds: float | None = ANSWER_SECONDS
) -> Record:
    """As `ask`, but absence is left to the caller as `DaemonAbsentError`."""
    response = request(places, method, target, *_content(body), seconds)
    raise_refusal(response)
    return record_of(response.body)


def ask_for_list(places: "Places", method: str, target: str) -> list[Record]:
    """The one JSON list of objects that answers."""
    return ask_for_list_of_known(places, method, target)[0]


def ask_for_list_of_known(places: "Places", method: str, target: str) -> tuple[list[Record], list[Record]]:
    """The one JSON list of objects that answers, and the teams of which nothing is known: each `team`, and `why`."""
    try:
        response = request(places, method, target)
    except DaemonAbsentError:
        raise error_of_absence(places) from None
    raise_refusal(response)
    listed = _parsed(response.body)
    if not isinstance(listed, list):
        raise _strange(response.body)
    unknown = _parsed(response.headers.get("x-corral-unknown", "[]").encode())
    return _objects(listed), _objects(unknown if isinstance(unknown, list) else [])


def _objects(listed: list[object]) -> list[Record]:
    return [record for record in listed if isinstance(record, dict)]


def begin(places: "Places", method: str, target: str, body: object = None) -> "Exchange":
    """A request whose answer is taken as it comes."""
    from corral.client.exchange import Exchange

    try:
        return Exchange(places, method, target, *_content(body))
    except DaemonAbsentError:
        raise error_of_absence(places) from None


def records(places: "Places", method: str, target: str, body: object = None) -> "Iterator[Record]":
    """The records of a stream, as they come; an error record is raised. Nothing is asked before the first."""
    try:
        yield from records_of_present_daemon(places, method, target, body)
    except DaemonAbsentError:
        raise error_of_absence(places) from None


def records_of_present_daemon(places: "Places", method: str, target: str, body: object = None) -> "Iterator[Record]":
    """As `records`, but absence is left to the caller as `DaemonAbsentError`, before the first record."""
    response, lines = stream(places, method, target, *_content(body))
    raise_refusal(response)
    for line in lines:
        record = record_of(line)
        error = record.get("error")
        if isinstance(error, dict):
            raise from_json(error)
        yield record


def concluded(stream: "Iterator[Record]") -> "Iterator[Record]":
    """The records of a piece of work, checked to end with its result; a stream cut short is `UnavailableError`."""
    for record in stream:
        yield record
        if "result" in record:
            return
    raise UnavailableError(
        "the daemon went away before the work was done",
        "corral daemon start finds the agents again; corral events shows how far it came",
    )


def raise_refusal(response: Response) -> None:
    """Raise what an answer of status 400 or more says."""
    if response.status < 400:
        return
    try:
        error = record_of(response.body).get("error")
    except UnavailableError:
        error = None
    if isinstance(error, dict):
        raise from_json(error)
    text = response.body[:200].decode("utf-8", "replace").strip()
    if response.status == 400:
        raise WrongUseError(
            "the daemon could not read what was asked" + (f": {text}" if text else ""),
            "is something in it very long, or no text? Give less of it",
        )
    raise CorralError(
        f"the daemon answered {response.status}" + (f": {text}" if text else ""),
        "is it of another version? corral daemon stop, then corral daemon start",
    )


def _content(body: object) -> "tuple[bytes, Sequence[tuple[str, str]]]":
    if body is None:
        return b"", ()
    if isinstance(body, bytes):
        return body, (("Content-Type", "text/plain; charset=utf-8"),)
    # A directory whose name is no UTF-8 cannot be named in JSON; a question mark in it harms nobody.
    text = encoded(body).encode("utf-8", "replace")
    return text, (("Content-Type", "application/json"),)


def record_of(text: bytes) -> Record:
    """The JSON object that `text` is."""
    record = _parsed(text)
    if not isinstance(record, dict):
        raise _strange(text)
    return record


def _parsed(text: bytes) -> object:
    from corral.client.decoding import decoded

    try:
        return decoded(text)
    except ValueError:
        return None


def _strange(text: bytes) -> UnavailableError:
    return UnavailableError(
        f"the daemon's answer is not what it should be: {text[:80].decode('utf-8', 'replace')!r}",
        "is it of another version? corral daemon stop, then corral daemon start",
    )


def stream_was_cut(places: "Places") -> CorralError:
    """For a stream that is followed: it has no end of its own, so one that ended was cut."""
    if is_remote():
        return UnavailableError("the daemon has hung up; the agents go on", "run it again")
    if places.of_host and os.path.lexists(places.daemon_socket) and not os.access(places.daemon_socket, os.W_OK):
        return RefusedError(
            "the daemon has hung up: you are no member of this host any more",
            "an owner or root lets you in again: sudo corral member add USER --role ROLE",
        )
    return UnavailableError(
        "the daemon went away; the agents go on",
        f"run it again; if the daemon is not there: {how_to_start(places)}"
        if places.of_host
        else f"{how_to_start(places)}, then run it again",
    )
