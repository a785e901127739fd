"""Which handler serves what, and what becomes of requests that none does."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers
from corral.api.router import Route, Router
from corral.domain.errors import CorralError


def named(name: str) -> Any:
    async def handler(request: Request) -> Response:
        if name == "fails":
            raise ValueError("no")
        return answers.json({"handler": name, "parameters": request.path_params})

    return handler


def router(routes: Iterable[tuple[str, str, str]]) -> Router:
    def on_error(_: Request, error: Exception) -> Response:
        return answers.failure(error if isinstance(error, CorralError) else CorralError(repr(error)))

    return Router([Route(method, path, named(name)) for method, path, name in routes], on_error)


TABLE = router(
    [
        ("GET", "/v1/leases", "list"),
        ("POST", "/v1/leases", "acquire"),
        ("GET", "/v1/leases/check", "check"),
        ("GET", "/v1/leases/{lease}", "show"),
        ("POST", "/v1/leases/{lease}/release", "release"),
        ("GET", "/v1/{noun}/help", "help"),
        ("GET", "/v1/bad", "fails"),
    ]
)


def ask(method: str, path: str) -> tuple[int, Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [],
        "server": ("corral", 1),
    }
    asyncio.run(TABLE(scope, receive, send))
    start, body = sent
    return start["status"], json.loads(body["body"])


@pytest.mark.parametrize(
    ("method", "path", "handler", "parameters"),
    [
        ("GET", "/v1/leases", "list", {}),
        ("HEAD", "/v1/leases", "list", {}),
        ("POST", "/v1/leases", "acquire", {}),
        ("GET", "/v1/leases/check", "check", {}),
        ("GET", "/v1/leases/l41", "show", {"lease": "l41"}),
        ("GET", "/v1/leases/{}", "show", {"lease": "{}"}),
        ("POST", "/v1/leases/check/release", "release", {"lease": "check"}),
        ("GET", "/v1/leases/help", "show", {"lease": "help"}),
        ("GET", "/v1/tasks/help", "help", {"noun": "tasks"}),
    ],
)
def test_a_request_is_served(method: str, path: str, handler: str, parameters: dict[str, str]) -> None:
    assert ask(method, path) == (200, {"handler": handler, "parameters": parameters})


@pytest.mark.parametrize(
    "path", ["/", "", "/v1", "/v1/leases/", "/v1/leases//release", "/v1/leases/a/b/release", "v1/bad"]
)
def test_what_nobody_serves_is_not_found(path: str) -> None:
    status, told = ask("POST", path)
    assert (status, told["error"]["message"]) == (404, f"POST {path}: Not Found")


def test_another_method_is_told() -> None:
    status, told = ask("DELETE", "/v1/leases/l41")
    assert (status, told["error"]["message"]) == (400, "DELETE /v1/leases/l41: Method Not Allowed")


def test_what_a_handler_raises_is_answered() -> None:
    status, told = ask("GET", "/v1/bad")
    assert (status, told["error"]["message"]) == (500, "ValueError('no')")
