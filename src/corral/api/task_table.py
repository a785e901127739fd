"""The routes of tasks."""

from __future__ import annotations

from corral.api import task_answers, task_bodies
from corral.api.endpoint import TEAM, Endpoint, Parameter, flag

_TASK = Parameter("task", "the id of the task", required=True)

TASKS = (
    Endpoint(
        method="POST",
        path="/v1/tasks",
        handler="add_task",
        summary="add a task; with a key, once however often it is asked for",
        parameters=TEAM,
        body=task_bodies.NewTaskBody,
        answers=(task_answers.Added,),
    ),
    Endpoint(
        method="GET",
        path="/v1/tasks",
        handler="list_tasks",
        summary="tasks in about the order in which they are claimed, without their bodies",
        parameters=(
            Parameter("state", "only in one of these states", repeated=True),
            Parameter("label", "only with this label"),
            Parameter("by", "only claimed by this agent (`TEAM/AGENT`) or person"),
            flag("mine", "only claimed by `agent`, or without it by the person who asks"),
            Parameter("agent", "the agent that asks"),
            Parameter("limit", "at most so many, 1000 without it", "integer"),
            *TEAM,
        ),
        answers=(task_answers.Tasks,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks/claim",
        handler="claim_task",
        summary="claim the next task, and wait for one if wanted",
        parameters=(Parameter("agent", "the agent that claims it; without it, the person who asks does"), *TEAM),
        body=task_bodies.ClaimBody,
        answers=(task_answers.Claimed,),
    ),
    Endpoint(
        method="GET",
        path="/v1/tasks/{task}",
        handler="show_task",
        summary="one task, with its body, result and notes",
        parameters=(_TASK, *TEAM),
        answers=(task_answers.WholeTask,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/tasks/{task}",
        handler="remove_task",
        summary="forget a task that is done or dead",
        parameters=(_TASK, flag("force", "also one that is open, or that others wait for"), *TEAM),
        answers=(task_answers.Removed,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks/{task}/renew",
        handler="renew_task",
        summary="say that work on a claimed task goes on",
        parameters=(_TASK, *TEAM),
        body=task_bodies.RenewBody,
        answers=(task_answers.WholeTask,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks/{task}/done",
        handler="finish_task",
        summary="say that a claimed task is done",
        parameters=(_TASK, *TEAM),
        body=task_bodies.DoneBody,
        answers=(task_answers.WholeTask,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks/{task}/fail",
        handler="fail_task",
        summary="say that an attempt at a claimed task failed",
        parameters=(_TASK, *TEAM),
        body=task_bodies.FailBody,
        answers=(task_answers.WholeTask,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks/{task}/release",
        handler="release_task",
        summary="give a claim back; without a token, revive a dead task",
        parameters=(_TASK, *TEAM),
        body=task_bodies.ReleaseBody,
        answers=(task_answers.WholeTask,),
    ),
)
