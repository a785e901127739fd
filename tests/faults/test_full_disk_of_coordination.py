"""A full disk under what agents agree on: what could not be written never was, and what was written is still so."""

from tests.faults.support.disks import Disk
from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance

CHANGES = [
    ["lease", "acquire", "--agent", "a-1", "docs/"],
    ["lease", "release", "--agent", "a-1", "{lease}"],
    ["task", "add", "two"],
    ["task", "done", "{task}", "--token", "{token}"],
    ["task", "rm", "--force", "{task}"],
    ["msg", "send", "a-2", "-m", "y", "--key", "k2"],
    ["kv", "put", "k", "other"],
    ["pub", "news", "x"],
]


def seen(instance: Instance) -> object:
    """All that was agreed on."""
    return [
        [(lease["lease"], lease["patterns"]) for lease in instance.json("lease", "ls")["leases"]],
        [(task["task"], task["state"], task["token"]) for task in instance.json("task", "ls", "--all")["tasks"]],
        [message["message"] for message in instance.json("msg", "inbox", "--agent", "a-2")["messages"]],
        instance.json("kv", "get", "k")["value"],
    ]


def test_nothing_is_decided_that_cannot_be_written_and_nothing_is_lost(home_disk: Disk, instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    lease = instance.json("lease", "acquire", "--agent", "a-1", "src/")["lease"]
    instance.run("task", "add", "one")
    claim = instance.json("task", "claim", "--agent", "a-1")
    instance.run("msg", "send", "a-2", "-m", "x", "--key", "k1")
    instance.run("kv", "put", "k", "value")
    names = {"lease": lease, "task": claim["task"], "token": str(claim["token"])}
    before = seen(instance)
    with home_disk.full():
        for words in CHANGES:
            code, error = instance.error(*(word.format(**names) for word in words))
            assert code == 1, (words, error)
            assert "full" in error["message"] or "No space left" in error["message"], error
            assert error["remedy"]
        assert seen(instance) == before
        # The same key was sent before, and is on the disk: that can be said.
        assert instance.json("msg", "send", "a-2", "-m", "x", "--key", "k1")["message"]
        assert instance.run("lease", "check", "--agent", "a-2", "src/x", check=False).returncode == 4
    assert seen(instance) == before
    for words in CHANGES:
        if words[:2] != ["task", "rm"]:
            instance.run(*(word.format(**names) for word in words))
    assert instance.json("lease", "ls")["leases"][0]["patterns"] == ["docs/"]
    receipt = instance.json("down")
    assert (receipt["clean"], receipt["given_back"]["leases"]) == (True, 1)


def test_down_on_a_full_disk_says_what_could_not_be_given_back(home_disk: Disk, instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    instance.run("lease", "acquire", "--agent", "a", "src/")
    with home_disk.full():
        done = instance.run("down", "--json", check=False)
        assert done.returncode != 0
    receipt = instance.json("down")
    assert receipt["clean"]
    assert {check["what"]: check["found"] for check in receipt["checks"]}["leases"] == 0
