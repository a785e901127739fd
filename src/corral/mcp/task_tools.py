"""The tools of `corral task`, as they are told to a model."""

from __future__ import annotations

from corral.mcp import task_calls, task_results
from corral.mcp.calls import LONGEST_WAIT
from corral.mcp.parameters import FLAG, NUMBER, TEXT, WHOLE_NUMBER, WORDS, Parameter
from corral.mcp.task_calls import LISTED, MOST_LISTED
from corral.mcp.telling import told
from corral.mcp.tool import Tool

_ADD = told("""
Hand work over: add a task to the team's list, for whoever claims it next, which may be another agent, or you later. It
stays on the list until somebody has done it, also if you, the others or Corral are restarted.

Write it for somebody who knows nothing of what you know: what is to be done in the title, and in the body why, where,
and how to tell that it is done. Split work so that each task can be done on its own; where one needs another, say so
with after, and it is claimed only when those are done. If a task of yours turns out to need something else first, add
that with before, and then give yours back with task_release.

Give a key when you may have to repeat this call, such as after an error: the same key never makes a second task.
""")

_CLAIM = told("""
Get the next task of the team's list to work on. It is yours alone from then on: no other agent gets it, however many
ask at the same time. The highest priority comes first. Keep task and token of the answer, for they belong to everything
that you say about it: task_done when it is done, task_fail if you could not do it, task_release if it is not for you.

Your claim is kept for you while you live; there is nothing to renew. If you are stopped, the task goes to somebody
else, and what you then say with the old token is refused. So attempt may be more than 1: somebody has tried before.
Read the notes, look at what is already there, and do not assume that nothing was done.

If there is no task, you get an error that says so. With wait, this waits for one. Claim one task at a time, and finish
it before you claim the next. If you lost an answer, task_list with mine=true shows what you have, with its token.
""")

_RENEW = told("""
Leave a note on a task that you are working on: how far you are, or what you found out. Others see it in task_list and
whoever has to take over reads it first. It also makes sure that the task is still yours: if not, it is refused, and you
should stop. Your claim does not need this to stay yours.
""")

_DONE = told("""
Say that a task is done, with the token of your claim. Do this when the work is where others find it: committed, merged
or written down, as the task says. Tasks that waited for it can be claimed from then on. Say in result what came of it,
such as the commit, the file or the answer.

If it is refused, the task is not yours any more: do not repeat it, and look at what the other one does.
""")

_FAIL = told("""
Say that you could not do a task, with the token of your claim. Say why in note: the next one to try reads it. The task
is ready again after a short rest, and after its last attempt it is put aside for a person. If nobody can do it as it
is, use final=true, and it is put aside at once. Never keep a task that you cannot do: nobody else gets it meanwhile.
""")

_RELEASE = told("""
Give a task back that you have claimed and will not do now, so that somebody else can have it at once. It does not count
as an attempt. Use it when you are asked to do something else, or when the task needs something that has to come first.
For a task that you tried and could not do, use task_fail.
""")

_LIST = told("""
See the tasks of the team: which can be claimed, who works on which, which wait for others, and which were put aside
because nobody could do them (state dead). It shows those that are not done, in about the order in which they are
claimed. Look here before you add a task that somebody else may have added already. It changes nothing.
""")

_SHOW = told("""
See one task with all that it says: its body, what was noted on the way, and its result once it is done. Use it to learn
what became of a task that you added, or to read one that you think of claiming. It changes nothing.
""")

_TASK = Parameter(name="task", kind=TEXT, required=True, about="The id that task_claim answered with, such as t41.")
_TOKEN = Parameter(
    name="token", kind=WHOLE_NUMBER, required=True, about="The token that task_claim answered with for this task."
)
_NOTE = Parameter(name="note", kind=TEXT, about="What others should know; it is kept with the task. At most 4 KiB.")

TASK_ADD = Tool(
    name="task_add",
    cli="task add",
    title="Add a task",
    description=_ADD,
    parameters=(
        Parameter(name="title", kind=TEXT, required=True, about="What is to be done, in one line."),
        Parameter(name="body", kind=TEXT, about="All that whoever claims it has to know. At most 64 KiB."),
        Parameter(
            name="priority",
            kind=WHOLE_NUMBER,
            least=-1000,
            most=1000,
            about="Greater is sooner; 0 without it, at most 1000. Leave it out unless you were told how urgent it is.",
        ),
        Parameter(
            name="labels",
            kind=WORDS,
            about="Only who has all of these labels can claim it, such as gpu. Leave them out unless you were told.",
        ),
        Parameter(name="after", kind=WORDS, about="Ids of tasks that must be done before this one can be claimed."),
        Parameter(name="before", kind=WORDS, about="Ids of tasks that must wait until this one is done."),
        Parameter(
            name="key",
            kind=TEXT,
            about="A name of your choice for this piece of work. A second call with the same key adds nothing, and "
            "answers with the same task.",
        ),
        Parameter(
            name="max_attempts",
            kind=WHOLE_NUMBER,
            least=1,
            most=1000,
            about="How often it may be tried before it is put aside for a person: 3 without it, at most 1000.",
        ),
    ),
    result=task_results.ADDED,
    call=task_calls.task_add,
    words=task_results.added_words,
)

TASK_CLAIM = Tool(
    name="task_claim",
    cli="task claim",
    title="Claim a task",
    description=_CLAIM,
    parameters=(
        Parameter(
            name="wait",
            kind=NUMBER,
            least=0,
            most=LONGEST_WAIT,
            about=f"Seconds to wait for a task if there is none: 0 without it, at most {LONGEST_WAIT:g}.",
        ),
        Parameter(
            name="labels",
            kind=WORDS,
            about="Labels that you were told you have: you also get tasks that ask for these. Without them, only tasks "
            "that ask for none.",
        ),
    ),
    result=task_results.CLAIMED,
    call=task_calls.task_claim,
    words=task_results.claimed_words,
)

TASK_RENEW = Tool(
    name="task_renew",
    cli="task renew",
    title="Note progress on a task",
    description=_RENEW,
    parameters=(_TASK, _TOKEN, _NOTE),
    result=task_results.CHANGED,
    call=task_calls.task_renew,
    words=task_results.changed_words,
)

TASK_DONE = Tool(
    name="task_done",
    cli="task done",
    title="Finish a task",
    description=_DONE,
    parameters=(
        _TASK,
        _TOKEN,
        Parameter(name="result", kind=TEXT, about="What came of it, for whoever asked for it. At most 64 KiB."),
        _NOTE,
    ),
    result=task_results.CHANGED,
    call=task_calls.task_done,
    words=task_results.changed_words,
)

TASK_FAIL = Tool(
    name="task_fail",
    cli="task fail",
    title="Give up on a task",
    description=_FAIL,
    parameters=(
        _TASK,
        _TOKEN,
        Parameter(
            name="note",
            kind=TEXT,
            required=True,
            about="Why, and what the next one should know or try. At most 4 KiB.",
        ),
        Parameter(
            name="final",
            kind=FLAG,
            default=False,
            about="true: nobody shall try again before a person has looked at it.",
        ),
    ),
    result=task_results.CHANGED,
    call=task_calls.task_fail,
    words=task_results.changed_words,
)

TASK_RELEASE = Tool(
    name="task_release",
    cli="task release",
    title="Give a task back",
    description=_RELEASE,
    parameters=(_TASK, _TOKEN, _NOTE),
    result=task_results.CHANGED,
    call=task_calls.task_release,
    words=task_results.changed_words,
)

TASK_LIST = Tool(
    name="task_list",
    cli="task ls",
    title="List tasks",
    description=_LIST,
    parameters=(
        Parameter(
            name="state",
            kind=TEXT,
            about="Only tasks in this state: ready, waiting, delayed, claimed, done or dead. All but done without it.",
        ),
        Parameter(
            name="mine", kind=FLAG, default=False, about="true: only tasks that you have claimed, with their tokens."
        ),
        Parameter(
            name="limit",
            kind=WHOLE_NUMBER,
            default=LISTED,
            least=1,
            most=MOST_LISTED,
            about=f"The most tasks in the answer: {LISTED} without it, at most {MOST_LISTED}.",
        ),
    ),
    result=task_results.LISTED,
    call=task_calls.task_list,
    words=task_results.listed_words,
    reads_only=True,
)

TASK_SHOW = Tool(
    name="task_show",
    cli="task show",
    title="See a task",
    description=_SHOW,
    parameters=(
        Parameter(
            name="task", kind=TEXT, required=True, about="The id that task_add or task_list told you, such as t41."
        ),
    ),
    result=task_results.SHOWN,
    call=task_calls.task_show,
    words=task_results.shown_words,
    reads_only=True,
)

TASK_TOOLS = (TASK_ADD, TASK_CLAIM, TASK_RENEW, TASK_DONE, TASK_FAIL, TASK_RELEASE, TASK_LIST, TASK_SHOW)
