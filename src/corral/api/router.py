"""Which handler serves a request: found by looking it up, and not by trying one route after the other.

An ASGI application of few words, because a hook asks before every write: every route costs the same, however many there
are. Whatever a handler raises becomes the answer that `on_error` makes of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from corral.domain.errors import CorralError, NotFoundError, WrongUseError

Handler = Callable[[Request], Awaitable[Response]]
#: What stands for the part of a path that is a parameter.
_ANY = "{}"


@dataclass(frozen=True, slots=True)
class Route:
    """A method, a path in which one whole part at most may be a parameter (`{name}`), and what serves them."""

    method: str
    path: str
    handler: Handler


class Router:
    """The application. Where a path fits a route with a parameter and one without, it means the latter."""

    def __init__(
        self,
        routes: Iterable[Route],
        on_error: Callable[[Request, Exception], Response],
        unrouted: Callable[[Handler], Handler] = lambda handler: handler,
    ) -> None:
        """`unrouted` makes the handler of what no route fits, of one that only raises."""
        self.routes = list(routes)
        self._on_error = on_error
        self._unrouted = unrouted
        #: By where in the path the parameter is (0: there is none) and by the path with that marked: of each method,
        #: the name of the parameter and the handler.
        self._found: dict[tuple[int, str], dict[str, tuple[str, Handler]]] = {}
        #: Where in a path a parameter may be.
        self._places: list[int] = []
        for route in self.routes:
            path, name, place = _template(route.path)
            self._found.setdefault((place, path), {})[route.method] = (name, route.handler)
            if name and place not in self._places:
                self._places.append(place)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request = Request(scope, receive, send)
        try:
            response = await self._handler(scope)(request)
        except Exception as error:
            response = self._on_error(request, error)
        await response(scope, receive, send)

    def _handler(self, scope: Scope) -> Handler:
        method, path = scope["method"], scope["path"]
        fits = False
        for reading, value in self._readings(path):
            served = self._found.get(reading)
            if served is None:
                continue
            # What can be got can be asked about; the server leaves out the body.
            found = served.get("GET" if method == "HEAD" else method)
            if found is not None:
                scope["path_params"] = {found[0]: value} if found[0] else {}
                return found[1]
            fits = True
        scope["path_params"] = {}
        if fits:
            return self._raising(WrongUseError(f"{method} {path}: Method Not Allowed", "docs/reference/api.md"))
        return self._raising(NotFoundError(f"{method} {path}: Not Found", "docs/reference/api.md"))

    def _raising(self, error: CorralError) -> Handler:
        async def refuse(_: Request) -> Response:
            raise error

        return self._unrouted(refuse)

    def _readings(self, path: str) -> Iterator[tuple[tuple[int, str], str]]:
        """How a path can be meant: as it is, or with a part of it as a parameter, and what that is."""
        yield (0, path), ""
        parts = path.split("/")
        for place in self._places:
            if place < len(parts) and parts[place]:
                yield (place, "/".join([*parts[:place], _ANY, *parts[place + 1 :]])), parts[place]


def _template(path: str) -> tuple[str, str, int]:
    """The path of a route with its parameter marked, the name of that, and where it is."""
    parts = path.split("/")
    places = [place for place, part in enumerate(parts) if part.startswith("{")]
    if not places:
        return path, "", 0
    (place,) = places
    name, parts[place] = parts[place][1:-1], _ANY
    return "/".join(parts), name, place
