"""What each tool asks of the daemon."""

import re
from typing import Any

import pytest

from corral.domain.errors import NotFoundError, WrongUseError
from corral.mcp.calls import Call
from corral.mcp.parameters import checked
from corral.mcp.tools import TOOLS

P = "p3f09ac12de"


def call(name: str, **given: object) -> Call:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    return tool.call(checked(name, tool.parameters, given))


def body(**given: object) -> dict[str, Any]:
    found = call("execute", **given).body
    assert isinstance(found, dict)
    return found


class TestExecute:
    def test_a_line_for_a_shell(self) -> None:
        asked = call("execute", command="make -j4", timeout=120, workdir="src", env={"A": "1"}, input="x")
        assert (asked.method, asked.path, asked.parameters, asked.wait) == ("POST", "/v1/exec", (), 120)
        assert isinstance(asked.body, dict)
        assert re.fullmatch("p[0-9a-f]{10}", asked.body.pop("process_id"))
        assert asked.body == {
            "command": "make -j4",
            "background": False,
            "tty": False,
            "stdin": False,
            "workdir": "src",
            "env": {"A": "1"},
            "input": "x",
            "limit": 20_000,
            "timeout": 120,
        }

    def test_every_process_has_an_id_of_its_own(self) -> None:
        assert body(command="x")["process_id"] != body(command="x")["process_id"]

    def test_words_without_a_shell(self) -> None:
        assert body(argv=["ls", "-l"])["argv"] == ["ls", "-l"]

    def test_the_background_is_not_waited_for(self) -> None:
        asked = call("execute", command="x", background=True, timeout=99)
        assert asked.wait == 0
        assert "timeout" not in body(command="x", background=True)

    @pytest.mark.parametrize(
        "given", [{}, {"command": "a", "argv": ["a"]}, {"command": "a", "stdin": True, "input": "b"}]
    )
    def test_what_cannot_be_meant(self, given: dict[str, object]) -> None:
        with pytest.raises(WrongUseError):
            call("execute", **given)


def test_the_list() -> None:
    assert call("process_list") == Call(method="GET", path="/v1/processes")


class TestOutput:
    def test_from_the_beginning(self) -> None:
        assert call("process_output", process_id=P) == Call(
            method="GET",
            path=f"/v1/processes/{P}/output",
            parameters=(("after", "0"), ("limit", "20000"), ("wait", "0")),
        )

    def test_from_a_cursor_with_everything(self) -> None:
        asked = call("process_output", process_id=P, after=9, limit=5, wait=2.5, until="a b", filter="c|d")
        assert asked.wait == 2.5
        assert dict(asked.parameters) == {"after": "9", "limit": "5", "wait": "2.5", "until": "a b", "filter": "c|d"}

    def test_a_pattern_is_waited_for_unless_told_otherwise(self) -> None:
        assert call("process_output", process_id=P, until="x").wait == 30
        assert call("process_output", process_id=P, until="x", wait=0).wait == 0


def test_the_rest() -> None:
    assert call("process_wait", process_id=P) == Call(
        method="POST", path=f"/v1/processes/{P}/wait", parameters=(("wait", "30"),), wait=30
    )
    assert call("process_write", process_id=P, text="ä\n") == Call(
        method="POST", path=f"/v1/processes/{P}/write", parameters=(("eof", "0"),), body="ä\n".encode()
    )
    assert call("process_write", process_id=P, eof=True).parameters == (("eof", "1"),)
    assert call("process_signal", process_id=P, signal="sigint").parameters == (("signal", "INT"),)
    assert call("process_kill", process_id=P, grace=0.5) == Call(
        method="POST", path=f"/v1/processes/{P}/kill", parameters=(("grace", "0.5"),), wait=0.5
    )
    assert call("process_remove", process_id=P) == Call(method="DELETE", path=f"/v1/processes/{P}")


@pytest.mark.parametrize("process", ["", "../agents", "p1/kill?x=", "p 1", "p1\n", "ä"])
def test_nothing_but_an_id_gets_into_a_path(process: str) -> None:
    with pytest.raises(NotFoundError, match="there is no process"):
        call("process_remove", process_id=process)
