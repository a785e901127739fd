"""What each tool of tasks asks of the daemon."""

from __future__ import annotations

from corral.client.wire import path_word
from corral.mcp.calls import Arguments, Call

#: Tasks in a list: without saying, and at most.
LISTED, MOST_LISTED = 50, 500
_NOT_DONE = ("ready", "waiting", "delayed", "claimed", "dead")


def task_add(arguments: Arguments) -> Call:
    """`corral task add`"""
    return Call(method="POST", path="/v1/tasks", body=dict(arguments))


def task_claim(arguments: Arguments) -> Call:
    """`corral task claim`"""
    wait = arguments.get("wait", 0.0)
    assert isinstance(wait, int | float)
    return Call(method="POST", path="/v1/tasks/claim", body=dict(arguments), wait=float(wait))


def task_renew(arguments: Arguments) -> Call:
    """`corral task renew`"""
    return _about(arguments, "renew")


def task_done(arguments: Arguments) -> Call:
    """`corral task done`"""
    return _about(arguments, "done")


def task_fail(arguments: Arguments) -> Call:
    """`corral task fail`"""
    return _about(arguments, "fail")


def task_release(arguments: Arguments) -> Call:
    """`corral task release`"""
    return _about(arguments, "release")


def task_list(arguments: Arguments) -> Call:
    """`corral task ls`"""
    state = arguments.get("state")
    wanted = _NOT_DONE if state is None else (str(state),)
    parameters = [("state", one) for one in wanted]
    mine = "1" if arguments.get("mine") else "0"
    return Call(
        method="GET",
        path="/v1/tasks",
        parameters=(*parameters, ("mine", mine), ("limit", str(arguments.get("limit", LISTED)))),
    )


def task_show(arguments: Arguments) -> Call:
    """`corral task show`"""
    return Call(method="GET", path=f"/v1/tasks/{path_word(str(arguments['task']))}")


def _about(arguments: Arguments, what: str) -> Call:
    # Nothing but what can be an id may get into the path of a request.
    task = path_word(str(arguments["task"]))
    body = {name: value for name, value in arguments.items() if name != "task"}
    return Call(method="POST", path=f"/v1/tasks/{task or '-'}/{what}", body=body)
