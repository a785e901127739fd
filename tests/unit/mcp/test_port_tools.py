"""What `port_get` asks of the daemon, and how its answer reads."""

from corral.mcp.parameters import checked
from corral.mcp.port_tools import PORT_GET, PORT_LIST
from corral.mcp.tools import TOOLS


def test_it_is_offered() -> None:
    assert PORT_GET in TOOLS
    assert PORT_LIST in TOOLS


def test_a_name_goes_along_and_none_is_no_name() -> None:
    asked = PORT_GET.call(checked("port_get", PORT_GET.parameters, {"name": "web"}))
    assert (asked.method, asked.path, asked.parameters) == ("POST", "/v1/ports", (("name", "web"),))
    assert PORT_GET.call(checked("port_get", PORT_GET.parameters, {})).parameters == ()


def test_the_answer_in_words_has_the_number() -> None:
    assert PORT_GET.words({"port": 20251, "name": "web", "agent": "a", "team": "shop"}) == "port 20251 is yours, as web"
    assert (
        PORT_GET.words({"port": 20250, "name": None, "agent": "a", "team": "shop"}) == "port 20250 is yours: your PORT"
    )


def test_the_list_says_who_listens_and_where_nobody_should() -> None:
    own = {"team": "shop", "agent": "a", "name": "web", "pid": 7, "command": "vite", "listening": True, "leased": True}
    rows = [
        {**own, "port": 20250, "name": None, "listening": False, "pid": None, "command": ""},
        {**own, "port": 20251},
        {**own, "port": 8080, "name": None, "leased": False},
        {**own, "port": 20252, "team": None, "agent": None, "name": None, "pid": None, "leased": False},
    ]
    assert PORT_LIST.words({"ports": rows}).splitlines() == [
        "20250: yours, and nobody listens",
        "20251 (web): you listen, pid 7: vite",
        "8080: you listen, on a port that is not yours, pid 7: vite",
        "20252: somebody else listens",
    ]
    assert PORT_LIST.words({"ports": []}) == "you have no ports"


def test_a_model_is_told_when_to_use_it() -> None:
    for what in ("instead of guessing", "3000", "PORT", "same name"):
        assert what in PORT_GET.description, what
