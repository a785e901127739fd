"""The OpenAPI document: of every route, and true of what the daemon really answers."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from corral.api import answers, openapi_answers
from corral.api.app import make_app
from corral.api.openapi import document
from corral.api.openapi_table import ENDPOINTS
from corral.api.process_routes import ProcessApi
from corral.domain.records import NewEvent
from corral.service.stats import Stat
from tests.support.records import AGENT, PERSON
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import runs

DOCUMENT = json.loads(document())
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "api.md"


def operations() -> dict[tuple[str, str], Any]:
    return {
        (method.upper(), path): operation
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }


def valid(method: str, path: str, answer: object) -> None:
    """Check an answer against what the document says of it."""
    content = operations()[method, path]["responses"]["200"]["content"]
    schema = (content.get("application/json") or content["application/x-ndjson"])["schema"]
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(answer)


def references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_it_has_every_route_of_the_application_and_no_other(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        served = {(route.method, route.path) for route in make_app(scene.services).routes}
        assert served == set(operations()) == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}

    play(tmp_path, act)


def test_every_handler_of_a_process_has_a_route() -> None:
    handlers = {name for name, _ in inspect.getmembers(ProcessApi, inspect.iscoroutinefunction) if name[0] != "_"}
    assert handlers <= {endpoint.handler for endpoint in ENDPOINTS}


def test_it_is_whole() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    for reference in references(DOCUMENT):
        assert reference.removeprefix("#/components/schemas/") in DOCUMENT["components"]["schemas"]
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = [operation["operationId"] for operation in operations().values()]
    assert len(names) == len(set(names))
    for (_, path), operation in operations().items():
        named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path))
        assert all(parameter["required"] for parameter in operation["parameters"] if parameter["in"] == "path")


def test_the_page_for_people_has_every_route() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for _, path in operations():
        assert path.replace("{process}", "ID") in text, path


def test_it_is_served(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("GET", "/v1/openapi.json")
        assert (reply.status, reply.json) == (200, DOCUMENT)

    play(tmp_path, act)


def test_what_is_answered_about_processes_is_as_it_says(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.at_start = runs
        answer = (await scene.exec(argv=["x"], background=True, stdin=True)).json
        valid("POST", "/v1/exec", answer)
        one = f"/v1/processes/{answer['process_id']}"
        for method, path, query, body in (
            ("GET", "", "", None),
            ("GET", "/output", "until=x&filter=y", None),
            ("POST", "/write", "eof=1", b"abc"),
            ("POST", "/signal", "signal=HUP", None),
            ("POST", "/resize", "columns=1&rows=1", None),
            ("POST", "/kill", "", None),
            ("POST", "/wait", "", None),
            ("DELETE", "", "", None),
        ):
            reply = await scene.ask(method, f"{one}{path}?{query}", body)
            assert reply.status == 200, path
            valid(method, f"/v1/processes/{{process}}{path}", reply.json)
        valid("GET", "/v1/processes", (await scene.ask("GET", "/v1/processes")).json)

    play(tmp_path, act)


def test_and_so_are_other_answers(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for path in ("/v1/health", "/v1/agents"):
            valid("GET", path, (await scene.ask("GET", path)).json)
        await scene.registry.observe((), [NewEvent(event="x", team="shop", data={"a": 1})], PERSON)
        lines = [line async for line in scene.stream("/v1/events")]
        assert lines
        for line in lines:
            valid("GET", "/v1/events", line)
        failed = (await scene.ask("GET", "/v1/screen?agent=nobody")).json
        msgspec.convert(failed, openapi_answers.Failure)

    play(tmp_path, act)


def test_an_agent_and_a_stat_have_these_keys_and_no_others(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        agent = json.loads(msgspec.json.encode(answers.agent_object(scene.registry, AGENT)))
        msgspec.convert(agent, openapi_answers.Agent)
        look = answers.stats([Stat(team="shop", agent=AGENT, time=0.0, usage=None, cpu_percent=None)])
        msgspec.convert(json.loads(msgspec.json.encode(look)), openapi_answers.Stats)

    play(tmp_path, act)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.handler)
def test_every_body_that_is_json_is_a_type_that_knows_its_fields(endpoint: Any) -> None:
    if isinstance(endpoint.body, type):
        assert issubclass(endpoint.body, msgspec.Struct)
        assert endpoint.body.__struct_config__.forbid_unknown_fields
