"""The OpenAPI document of the whole API, made from the table of routes and the types that they take and answer."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from corral import __version__
from corral.api.endpoint import DOCUMENT, WORK, Endpoint, Parameter
from corral.api.openapi_answers import Failure
from corral.api.openapi_table import ENDPOINTS
from corral.service.progress import Progress

_REFERENCE = "#/components/schemas/{name}"
_KINDS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "minimum": 0},
    "number": {"type": "number", "minimum": 0},
    "flag": {"enum": [0, 1]},
}
_LINES = "application/x-ndjson"


@functools.cache
def document() -> bytes:
    """OpenAPI 3.1, as JSON."""
    types = [Failure, Progress, *(type_ for endpoint in ENDPOINTS for type_ in _types(endpoint))]
    # Types in a list may be equal, and need not be hashable.
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    known = _Schemas(types, schemas)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, known)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Corral",
                "version": __version__,
                "description": "A team runtime for coding agents. Served on the unix socket of an instance, "
                "`CORRAL_RUNTIME_DIR/daemon.sock`; whoever may open it may do everything.",
            },
            "servers": [{"url": "http://corral", "description": "over the unix socket; the name does not matter"}],
            "paths": paths,
            "components": {"schemas": components},
        }
    )


class _Schemas:
    """The schema of each type."""

    def __init__(self, types: Sequence[Any], schemas: Sequence[dict[str, Any]]) -> None:
        self._pairs = list(zip(types, schemas, strict=True))

    def __getitem__(self, wanted: Any) -> dict[str, Any]:
        return next(schema for type_, schema in self._pairs if type_ == wanted)


def _types(endpoint: Endpoint) -> list[Any]:
    return [*endpoint.answers, *([endpoint.body] if isinstance(endpoint.body, type) else [])]


def _operation(endpoint: Endpoint, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.handler,
        "summary": endpoint.summary,
        "parameters": [_parameter(parameter, endpoint.path) for parameter in endpoint.parameters],
        "responses": {
            "200": {"description": endpoint.summary, "content": _content(endpoint, schemas)},
            "default": {"description": "it failed", "content": {"application/json": {"schema": schemas[Failure]}}},
        },
    }
    if isinstance(endpoint.body, str):
        raw: dict[str, Any] = {"application/octet-stream": {}}
        operation["requestBody"] = {"description": endpoint.body, "required": True, "content": raw}
    elif endpoint.body is not None:
        body = {"application/json": {"schema": schemas[endpoint.body]}}
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _parameter(parameter: Parameter, path: str) -> dict[str, Any]:
    schema = _KINDS[parameter.kind]
    return {
        "name": parameter.name,
        "in": "path" if "{" + parameter.name + "}" in path else "query",
        "description": parameter.summary,
        "required": parameter.required,
        "schema": {"type": "array", "items": schema} if parameter.repeated else schema,
    }


def _content(endpoint: Endpoint, schemas: _Schemas) -> dict[str, Any]:
    """What is answered. The schema of a stream is that of each of its lines."""
    told = [schemas[answer] for answer in endpoint.answers]
    if endpoint.how == DOCUMENT:
        (schema,) = told
        content = {"application/json": {"schema": schema}}
        if any(parameter.name == "follow" for parameter in endpoint.parameters):
            content[_LINES] = {"schema": {"anyOf": [schema, schemas[Failure]]}}
        return content
    if endpoint.how == WORK:
        (result,) = told
        told = [_wrapped("progress", schemas[Progress]), _wrapped("result", result)]
    return {_LINES: {"schema": {"anyOf": [*told, schemas[Failure]]}}}


def _wrapped(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name]}
