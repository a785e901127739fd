"""Limits where nothing can enforce them: said when agents start, and when limits change; never silently dropped."""

from tests.support.instance import Instance

_OFF = '[containment]\nsystemd = "off"\n'


def _spec(*, memory: str) -> str:
    agents = f'[agents.a]\ncommand = ["cat"]\nmemory_max = "{memory}"\n[agents.b]\ncommand = ["cat"]\n'
    return f'[team]\nname = "shop"\n{_OFF}{agents}'


def test_without_a_cgroup_up_says_that_limits_are_not_enforced(instance: Instance) -> None:
    instance.spec(_spec(memory="100M"))
    (note,) = [note for note in instance.json("up")["notes"] if "enforced" in note]
    assert note.startswith("a: ")
    assert instance.json("up")["notes"] == []  # nothing was started, nothing changed


def test_changed_limits_are_said_to_be_without_effect_and_restart_nobody(instance: Instance) -> None:
    instance.spec(_spec(memory="100M"))
    instance.run("up")
    before = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    instance.spec(_spec(memory="200M"))
    result = instance.json("up")
    assert {agent["agent"]: agent["action"] for agent in result["agents"]} == {"a": "adjust", "b": "keep"}
    assert [note for note in result["notes"] if note.startswith("a: ") and "memory_max" in note]
    assert {agent["agent"]: agent["pid"] for agent in instance.json("ps")} == before
    assert instance.json("up")["changed"] is False


def test_a_limit_that_makes_no_sense_starts_nothing(instance: Instance) -> None:
    instance.spec(_spec(memory="lots"))
    code, error = instance.error("up")
    assert (code, error["code"]) == (2, "bad_spec")
    assert "memory_max" in error["message"]
    assert instance.json("ps") == []
