"""`CORRAL_AGENT` outside of an agent: every command asks in the name of that agent, as the daemon sees it."""

import json
from typing import Any

from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance


def test_what_is_done_is_the_agents(instance: Instance) -> None:
    instance.spec(toml({"api": {"command": IDLE}, "docs": {"command": IDLE}}))
    instance.run("up")
    instance.run("task", "add", "x")

    def did(*words: str, agent: str = "api") -> Any:
        return json.loads(instance.run(*words, "--json", env={"CORRAL_AGENT": agent}).stdout)

    assert did("lease", "acquire", "src/")["agent"] == "shop/api"
    assert did("task", "claim")["by"] == "shop/api"
    assert did("port", "get", "web")["agent"] == "api"
    sent = did("msg", "send", "docs", "-m", "x")["message"]
    did("kv", "put", "x", "y")
    assert did("kv", "get", "x")["by"] == "shop/api"
    (message,) = did("msg", "inbox", agent="shop/docs")["messages"]
    assert (message["message"], message["from"]) == (sent, "shop/api")
    done = instance.run("lease", "acquire", "docs/", env={"CORRAL_AGENT": "nobody"}, check=False)
    assert (done.returncode, "nobody" in done.stderr, "unset CORRAL_AGENT" in done.stderr) == (3, True, True)
    assert [lease["agent"] for lease in instance.json("lease", "ls")["leases"]] == ["shop/api"]
