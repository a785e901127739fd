"""What a hook asks the daemon: may these files be written now?

A hook runs before every write of an agent, so this loads next to nothing, and the daemon answers with columns instead
of JSON. What is an answer and what is none are kept apart: `DaemonSilentError` is the one outcome where nobody knows,
and then the hook decides by the team's `[enforcement]` settings. All else is an answer.
"""

import os

from corral.client.absence import how_to_start, nothing_is_up
from corral.client.wire import DaemonAbsentError, request, target
from corral.domain.errors import CorralError, NotFoundError, UnavailableError, WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from corral.client.wire import Response
    from corral.places import Places

#: An agent waits for its hook, and so does a person: not longer than this for one answer.
ANSWER_SECONDS = 5.0
#: So many paths and bytes go into one request.
_MOST_PATHS, _MOST_BYTES = 20_000, 4 << 20

# Why a write is refused, as in `domain.writes`.
HELD, LOST, STALE, ACCESS = "held", "lost", "stale", "access"


class DaemonSilentError(Exception):
    """The daemon could not be reached or did not answer: nobody knows what may be written."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class Asker:
    """In whose name a hook asks: an agent of a team, and the run of it that the hook runs in (empty if unknown)."""

    __slots__ = ("agent", "run", "team")

    def __init__(self, team: str, agent: str, run: str = "") -> None:
        self.team = team
        self.agent = agent
        self.run = run

    @classmethod
    def from_environment(cls, instance: str = "") -> "Asker | None":
        """The agent that this process is of; None if it is of none, or of another instance than the one named."""
        of = os.environ.get
        team, agent, own = of("CORRAL_TEAM"), of("CORRAL_AGENT"), of("CORRAL_INSTANCE")
        if not (team and agent and own) or (instance and own != instance):
            return None
        return cls(team, agent, of("CORRAL_RUN", ""))


class Refused:
    """One path that must not be written, and what is in the way. All are text as the daemon gave it.

    `why` is HELD, LOST, STALE or ACCESS: then `pattern` is all that the asker may write, and nobody holds anything.
    `path` is fit to be shown; a byte that is no UTF-8 is spelled out in it. `lost_token` is that of the lease that the
    asker had, if it was lost.
    """

    __slots__ = ("expires_at", "holder", "lease", "lost_token", "mode", "path", "pattern", "since", "token", "why")

    def __init__(self, line: str) -> None:
        (
            self.path,
            self.why,
            self.holder,
            self.pattern,
            self.mode,
            self.lease,
            self.token,
            self.since,
            self.expires_at,
            self.lost_token,
        ) = line.split("\t")

    @property
    def sentence(self) -> str:
        """What is the matter with the path, for a person or a model."""
        if self.why == ACCESS:
            only = f"{self.pattern} only" if self.pattern else "nothing"
            return f"{self.path}: this agent may write {only} ([agents.….access] in corral.toml)"
        holds = f"{self.path}: {self.holder} holds {self.pattern} (token {self.token}) since {self.since}"
        if self.why == LOST:
            got = f"{self.holder} got {self.pattern} (token {self.token}) at {self.since}"
            return f"{self.path}: the lease on it that you had (token {self.lost_token}) is lost: {got}"
        if self.why == STALE:
            return f"{holds}, and this process is of an earlier run of that agent"
        return f"{holds}, until {self.expires_at} or longer"


def refused_writes(
    places: "Places",
    asker: Asker,
    paths: "Sequence[bytes]",
    *,
    ignore_case: bool = False,
    shared: bool = True,
    seconds: float = ANSWER_SECONDS,
) -> "list[Refused]":
    """Those of the paths that must not be written now; the list is empty if all may be.

    Paths are from the top of the repository, as git or the system has them: symbolic links are followed by the caller,
    if at all. `shared`: what somebody else holds together with others counts as well. Where no team is up, or the asker
    is of one that is not, nobody holds anything. `DaemonSilentError` if nobody knows; another `CorralError` is what the
    daemon answered.
    """
    found: list[Refused] = []
    query = target(
        "/v1/writes/check",
        [
            ("team", asker.team),
            ("agent", asker.agent),
            ("run", asker.run or None),
            ("ignore_case", "1" if ignore_case else None),
            ("shared", None if shared else "0"),
        ],
    )
    for part in _portions(paths):
        try:
            response = answered(places, "POST", query, b"".join(path + b"\0" for path in part), seconds)
        except NotFoundError:
            raise DaemonSilentError(
                "Corral's daemon does not know this question: it is of another version",
                "corral daemon stop, then corral daemon start; the agents go on",
            ) from None
        if response is None:
            return []
        found += [Refused(line) for line in response.body.decode("utf-8", "replace").split("\n") if line]
    return found


def answered(
    places: "Places", method: str, query: str, body: bytes = b"", seconds: float = ANSWER_SECONDS
) -> "Response | None":
    """The daemon's answer to any question of a hook, as columns where the route has them; None where no team is up.

    `DaemonSilentError` if there is no answer; `CorralError` if the daemon refused to give one.
    """
    try:
        headers = (("Accept", "text/tab-separated-values"),)
        response = request(places, method, query, body, headers, seconds)
    except DaemonAbsentError:
        if nothing_is_up(places):
            return None
        raise DaemonSilentError("Corral's daemon is not running", how_to_start(places)) from None
    except (UnavailableError, WrongUseError) as error:
        raise DaemonSilentError(error.message, error.remedy) from None
    if response.status < 400:
        return response
    # Few hooks come here, and only they pay for a parser.
    from corral.client.answers import raise_refusal

    try:
        raise_refusal(response)
    except UnavailableError as error:
        raise DaemonSilentError(error.message, error.remedy) from None
    raise CorralError(f"the daemon answered {response.status}")


def _portions(paths: "Sequence[bytes]") -> "Iterator[Sequence[bytes]]":
    begin, size = 0, 0
    for at, path in enumerate(paths):
        if at > begin and (at - begin == _MOST_PATHS or size + len(path) >= _MOST_BYTES):
            yield paths[begin:at]
            begin, size = at, 0
        size += len(path) + 1
    if begin < len(paths):
        yield paths[begin:]
