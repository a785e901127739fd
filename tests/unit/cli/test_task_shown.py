"""Tasks as a person reads them."""

from typing import Any

from corral.cli.task_shown import listed, shown


def task(name: str, **more: object) -> dict[str, Any]:
    return {"task": name, "state": "ready", "priority": 0, "attempt": 0, "max_attempts": 3, "title": "x", **more}


def test_what_tasks_wait_for_has_a_column_if_one_waits() -> None:
    head, *_ = listed({"tasks": [task("t1", waits_for=[], lacking=[])]})
    assert "WAITS FOR" not in head
    tasks = [
        task("t1", waits_for=["t2", "t3"], lacking=["gpu"]),
        task("t2", waits_for=[], lacking=[]),
        task("t3", waits_for=[f"t{number}" for number in range(10, 17)], lacking=[]),
    ]
    head, *rows = listed({"tasks": tasks})
    at = head.index("WAITS FOR")
    assert [row[at : head.index("TITLE")].strip() for row in rows] == [
        "t2, t3, label gpu",
        "-",
        "t10, t11, t12, t13, t14 and 2 more",
    ]
    assert "no agent has: gpu" in list(shown(tasks[0]))
