"""The table of tools: whole, explained, and the same as what is written about it."""

from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from corral.domain.errors import WrongUseError
from corral.mcp.calls import process_write
from corral.mcp.parameters import checked, schema_of
from corral.mcp.reference import render
from corral.mcp.texts import INSTRUCTIONS
from corral.mcp.tool import Tool
from corral.mcp.tools import EXECUTE, PROCESS_LIST, PROCESS_OUTPUT, PROCESS_REMOVE, TOOLS

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=TOOLS, ids=lambda tool: tool.name)
def tool(request: pytest.FixtureRequest) -> Tool:
    one = request.param
    assert isinstance(one, Tool)
    return one


class TestEveryTool:
    def test_is_explained(self, tool: Tool) -> None:
        assert len(tool.description) > 100
        assert all(len(parameter.about) > 20 for parameter in tool.parameters)
        assert not any(line.endswith(" ") for line in tool.description.splitlines())

    def test_has_schemas_that_are_right(self, tool: Tool) -> None:
        jsonschema.Draft202012Validator.check_schema(schema_of(tool.parameters))
        jsonschema.Draft202012Validator.check_schema(tool.result)

    def test_says_its_defaults_and_limits_in_words_too(self, tool: Tool) -> None:
        """A client may show a model the words and not the schema."""
        for parameter in tool.parameters:
            for number in (parameter.default, parameter.most):
                if isinstance(number, int | float) and not isinstance(number, bool) and number:
                    assert str(int(number)) in parameter.about, parameter.name

    def test_names_only_tools_that_there_are(self, tool: Tool) -> None:
        names = {one.name for one in TOOLS}
        fields = {parameter.name for one in TOOLS for parameter in one.parameters} | {
            field
            for one in TOOLS
            for field in one.result["properties"]  # type: ignore[attr-defined]
        }
        words = f"{tool.description} {' '.join(parameter.about for parameter in tool.parameters)}".split()
        for word in words:
            plain = word.strip("`.,:;()").split("=")[0]
            if "_" in plain:
                assert plain in names | fields, plain

    def test_takes_what_its_schema_takes(self, tool: Tool) -> None:
        given = {parameter.name: _example(parameter.kind) for parameter in tool.parameters}
        jsonschema.validate(given, schema_of(tool.parameters))
        assert set(checked(tool.name, tool.parameters, given)) == set(given)

    def test_does_something_with_each_parameter(self, tool: Tool) -> None:
        for parameter in tool.parameters:
            if parameter.name in ("argv", "base64"):
                continue  # in place of another, and in other words
            given = {one.name: _example(one.kind) for one in tool.parameters if one.required or one is parameter}
            if "process_id" in given:
                given["process_id"] = "p3f09ac12de"
            if "lease" in given:
                given["lease"] = "l57"
            if tool is EXECUTE:
                given["command"] = "a"
            call = tool.call(checked(tool.name, tool.parameters, given))
            value = given[parameter.name]
            expected = "1" if value is True else str(value)
            found = f"{call.path} {call.parameters} {call.body!r}"
            words = [str(word) for word in value] if isinstance(value, list) else [expected]
            assert all(word.lower() in found.lower() for word in words) or repr(value) in found, (parameter.name, found)


def _example(kind: str) -> object:
    return {
        "text": "abcdef0123",
        "flag": True,
        "number": 2,
        "whole number": 7,
        "words": ["a", "b"],
        "variables": {"A": "1"},
        "revisions": {"a": 0},
    }[kind]


def test_what_a_model_must_know_is_said() -> None:
    for what in (
        "background=true",
        "`&`",
        "nohup",
        "timed_out",
        "survivors",
        "promoted",
        "pagers",
        "colours",
        "tty=true",
    ):
        assert what in EXECUTE.description, what
    for what in ("`next`", "after=0", "until", "wait"):
        assert what in PROCESS_OUTPUT.description, what
    assert "background=true" in INSTRUCTIONS


def test_how_much_is_kept_is_said() -> None:
    for what in ("2048 of yours may run", "the last 200", "8 MiB", "512 MiB", "corral.toml"):
        assert what in PROCESS_LIST.description, what
    assert "not removed" not in PROCESS_LIST.description
    assert "end some with process_kill" in PROCESS_REMOVE.description


def test_the_reference_is_what_models_are_told() -> None:
    page = (ROOT / "docs/reference/mcp.md").read_text(encoding="utf-8")
    assert page == render(), "python -m corral.mcp.reference > docs/reference/mcp.md"


class TestArguments:
    def test_defaults_come_in(self) -> None:
        assert checked("execute", EXECUTE.parameters, {"command": "x"})["timeout"] == 30

    def test_null_is_not_given(self) -> None:
        given = {"command": "x", "timeout": None, "env": None}
        assert checked("execute", EXECUTE.parameters, given) == checked("execute", EXECUTE.parameters, {"command": "x"})

    def test_a_whole_number_may_be_written_with_a_fraction(self) -> None:
        assert checked("process_output", PROCESS_OUTPUT.parameters, {"process_id": "p", "after": 7.0})["after"] == 7

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"cmd": "x"}, "no parameter 'cmd'"),
            ({"command": ["x"]}, "command must be a string"),
            ({"argv": "ls"}, "argv must be a list of strings"),
            ({"argv": ["ls", 1]}, "argv must be a list of strings"),
            ({"timeout": "30"}, "timeout must be a number"),
            ({"timeout": True}, "timeout must be a number"),
            ({"timeout": -1}, "timeout must be 0 or more"),
            ({"timeout": 601}, "timeout must be 600 or less"),
            ({"limit": 2.5}, "limit must be a whole number"),
            ({"limit": 0}, "limit must be 1 or more"),
            ({"background": 1}, "background must be true or false"),
            ({"env": {"A": 1}}, "env must be an object with strings"),
        ],
    )
    def test_what_does_not_fit_is_said_with_what_would(self, given: dict[str, object], words: str) -> None:
        with pytest.raises(WrongUseError) as caught:
            checked("execute", EXECUTE.parameters, given)
        assert words in caught.value.message
        assert caught.value.remedy

    def test_what_is_missing_too(self) -> None:
        with pytest.raises(WrongUseError, match="needs process_id"):
            checked("process_output", PROCESS_OUTPUT.parameters, {})


class TestWriting:
    def test_bytes_come_in_base64(self) -> None:
        assert process_write({"process_id": "p3f09ac12de", "base64": "AP8="}).body == b"\0\xff"

    def test_what_is_no_base64_is_refused(self) -> None:
        with pytest.raises(WrongUseError, match="not base64"):
            process_write({"process_id": "p3f09ac12de", "base64": "a"})

    def test_both_are_refused(self) -> None:
        with pytest.raises(WrongUseError, match="not both"):
            process_write({"process_id": "p3f09ac12de", "text": "a", "base64": "AP8="})
