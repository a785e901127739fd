"""What `port_get` asks of the daemon, and how its answer reads."""

from corral.mcp.parameters import checked
from corral.mcp.port_tools import PORT_GET
from corral.mcp.tools import TOOLS


def test_it_is_offered() -> None:
    assert PORT_GET in TOOLS


def test_a_name_goes_along_and_none_is_no_name() -> None:
    asked = PORT_GET.call(checked("port_get", PORT_GET.parameters, {"name": "web"}))
    assert (asked.method, asked.path, asked.parameters) == ("POST", "/v1/ports", (("name", "web"),))
    assert PORT_GET.call(checked("port_get", PORT_GET.parameters, {})).parameters == ()


def test_the_answer_in_words_has_the_number() -> None:
    assert PORT_GET.words({"port": 20251, "name": "web", "agent": "a", "team": "shop"}) == "port 20251 is yours, as web"
    assert (
        PORT_GET.words({"port": 20250, "name": None, "agent": "a", "team": "shop"}) == "port 20250 is yours: your PORT"
    )


def test_a_model_is_told_when_to_use_it() -> None:
    for what in ("instead of guessing", "3000", "PORT", "same name"):
        assert what in PORT_GET.description, what
