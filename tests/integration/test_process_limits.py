"""`[processes]` of a `corral.toml`, as a person meets it: what is refused, what is kept, what `up` changes of it."""

import json
from typing import Any

from tests.support.instance import Instance
from tests.support.waiting import wait_for

AGENTS = '[agents.a]\ncommand = ["cat"]\nterminal = "none"\n[agents.b]\ncommand = ["cat"]\nterminal = "none"\n'
K = 1024


def spec(**limits: object) -> str:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in limits.items())
    return f'[team]\nname = "shop"\n[processes]\n{lines}{AGENTS}'


def adjustments(shop: Instance) -> list[Any]:
    events = map(json.loads, shop.run("events", "--json", "-n", "100").stdout.splitlines())
    return [event["data"] for event in events if event["event"] == "team.adjusted"]


def test_past_the_number_that_may_run_the_next_is_refused_until_the_file_allows_it(instance: Instance) -> None:
    instance.spec(spec(running=2))
    instance.run("up")
    agents = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    ids = [instance.run("exec", "a", "-b", "--", "sleep", "1000").stdout.strip() for _ in range(2)]
    code, error = instance.error("exec", "a", "-c", "true")
    assert (code, error["code"]) == (4, "refused")
    assert "a has 2 commands that run, and may have 2: that is processes.running" in error["message"]
    assert "corral proc kill" in error["remedy"]
    # The two go on, and another agent has a number of its own.
    assert [(one["process_id"], one["running"]) for one in instance.json("proc", "ls")] == [(one, True) for one in ids]
    instance.run("exec", "b", "-c", "true")

    instance.spec(spec(running=3))
    assert instance.json("up", "--dry-run")["changed"] is False
    assert instance.error("exec", "a", "-c", "true")[0] == 4  # not before it is said
    assert {agent["action"] for agent in instance.json("up")["agents"]} == {"keep"}
    instance.run("exec", "a", "-c", "true")
    ids.append(instance.run("exec", "a", "-b", "--", "sleep", "1000").stdout.strip())
    assert instance.error("exec", "a", "-c", "true")[0] == 4
    assert {agent["agent"]: agent["pid"] for agent in instance.json("ps")} == agents
    (changed,) = adjustments(instance)
    assert (changed["changed"], changed["processes"]["running"]) == (["processes.running"], 3)
    instance.run("up")
    assert len(adjustments(instance)) == 1

    # A lower number ends nothing, and one that ends makes no room yet.
    instance.spec(spec(running=1))
    instance.run("up")
    instance.run("proc", "kill", "--grace", "1s", ids[0])
    assert "has 2 commands that run, and may have 1:" in instance.error("exec", "a", "-c", "true")[1]["message"]
    for one in ids[1:]:
        instance.run("proc", "kill", "--grace", "1s", one)
    instance.run("exec", "a", "-c", "true")
    assert instance.json("down", "--grace", "1s")["clean"]


def test_of_much_output_the_beginning_and_the_end_are_kept_and_the_rest_is_counted(instance: Instance) -> None:
    instance.spec(spec(output="64K", disk="1M"))
    instance.run("up")
    written = "".join(f"{number}\n" for number in range(100_000, 300_000))
    answer = instance.json("exec", "a", "-c", "seq 100000 299999")
    omitted = answer["omitted_bytes"]
    head, line, tail = answer["output"].partition(f"[… {omitted} bytes left out …]\n")
    assert line
    assert head.rstrip("\n") == written[: 8 * K].rstrip("\n")
    assert tail == written[8 * K + omitted :]
    # What is kept of the end is cut by parts, so it may be a part more.
    assert 56 * K <= len(tail) <= 56 * K + 64 * K
    assert (answer["next"], answer["exit_code"]) == (len(written), 0)
    page = instance.json("proc", "output", answer["process_id"])
    assert (page["omitted_bytes"], page["output"]) == (omitted, answer["output"])
    short = instance.json("exec", "a", "-c", "seq 10000 19999")
    assert (short["omitted_bytes"], len(short["output"])) == (0, 60_000)
    # The file as it is now is for the next command; of the one before it stays at that.
    instance.spec(spec())
    instance.run("up")
    assert instance.json("exec", "a", "-c", "seq 100000 199999")["omitted_bytes"] == 0
    assert instance.json("proc", "output", answer["process_id"])["omitted_bytes"] == omitted
    assert instance.json("down", "--grace", "1s")["clean"]


def test_only_so_many_commands_that_have_ended_are_remembered(instance: Instance) -> None:
    instance.spec(spec(records=3))
    instance.run("up")
    running = instance.run("exec", "a", "-b", "--", "sleep", "1000").stdout.strip()
    ended = [instance.json("exec", "a", "-c", f"exit {number}", check=False) for number in range(6)]
    assert [answer["exit_code"] for answer in ended] == list(range(6))
    wanted = [running, *(answer["process_id"] for answer in ended[3:])]
    wait_for(lambda: instance.run("proc", "ls", "-q").stdout.split() == wanted, what="the last three")
    assert instance.run("proc", "output", ended[0]["process_id"], check=False).returncode == 3
    assert {agent["state"] for agent in instance.json("ps")} == {"running"}
    assert instance.json("down", "--grace", "1s")["clean"]


def test_a_table_that_makes_no_sense_starts_nothing(instance: Instance) -> None:
    path = instance.spec(spec(running=0, output="8MB", disk="1K", memory_max="1G"))
    code, error = instance.error("up")
    assert (code, error["code"]) == (2, "bad_spec")
    assert [line.removeprefix(f"{path}:") for line in error["message"].splitlines()] == [
        "4: processes.running: this is out of range",
        '5: processes.output: "8MB" is no size',
        "6: processes.disk: this is out of range",
        "7: processes.memory_max: there is no such key",
    ]
    assert "line 4: a number from 1 to 100000, such as running = 2048" in error["remedy"]
    assert instance.json("ps") == []
