"""Something of each kind that can be asked about, in a team that is up, with a mark in all that has room for one."""

import getpass
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.marks import mark
from tests.fuzz.wire import Identity, ask, over_socket

#: Asks for something, which has to be done: method, target, body.
Ask = Callable[..., Any]
Known = dict[str, list[Any]]


def asking(identity: Identity) -> Ask:
    """As this one."""

    def asked(method: str, target: str, body: object = None) -> Any:
        sent = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        heard = ask(identity, method, target, {}, sent)
        assert heard.status == 200, (method, target, heard)
        return json.loads(heard.body)

    return asked


def plant(
    asked: Ask, team: str, agents: Sequence[str], directory: str, processes: tuple[str, str], person: str
) -> Known:
    """By the name of a parameter or field, what there is of it now. `directory` is a
    repository, `person` is who asks."""

    def word(kind: str) -> str:
        return mark(team, kind)

    first, second = agents[:2]
    whose = f"team={team}&agent={first}"
    runs, ended = processes
    command = {"argv": ["cat", word("command")], "env": {"MARK": word("command-environment")}}
    asked("POST", f"/v1/exec?{whose}", {"argv": ["cat"], "stdin": True, "background": True, "process_id": runs})
    shell = f"echo {word('output')} # {word('command')}"
    asked("POST", f"/v1/exec?{whose}", {**command, "argv": ["sh", "-c", shell], "process_id": ended})
    asked("POST", f"/v1/kv?team={team}", {"puts": {f"a/{word('key')}": word("value")}})
    asked("POST", f"/v1/topics?team={team}&topic=news", word("news").encode())
    git = ("git", "-c", "user.name=x", "-c", "user.email=x", "-C", directory)
    tip = subprocess.check_output([*git, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", person], text=True).strip()
    subprocess.run([*git, "branch", "--quiet", "--force", word("branch"), tip], check=True)
    merge = asked("POST", f"/v1/merges?team={team}", {"branch": word("branch")})
    lease = asked("POST", f"/v1/leases?{whose}", {"patterns": [f"src/{word('file')}/**"]})
    asked("POST", f"/v1/locks?{whose}", {"name": word("lock"), "while_agent_runs": True})
    task = asked("POST", f"/v1/tasks?team={team}", {"title": word("task"), "body": word("task-text")})
    message = asked("POST", f"/v1/messages?team={team}", {"text": word("message"), "to": [first, second]})
    # Who has written can be written to.
    letter = asked("POST", f"/v1/messages?{whose}", {"text": word("letter"), "to": [f"@{person}"]})
    sent = asked("POST", f"/v1/send?{whose}&wait=submitted&timeout=20", word("screen").encode())
    recordings = asked("GET", f"/v1/recordings?{whose}")
    return {
        "process": [runs, ended],
        "process_id": [runs, ended, ""],
        "key": [f"a/{word('key')}"],
        "prefix": ["a/"],
        "topic": ["news"],
        "lease": [lease["lease"]],
        "task": [task["task"]],
        "message": [message["message"], letter["message"], sent["message"]],
        "merge": [merge["merge"]],
        "entry": ["1"],
        "recording": [str(recording.get("recording", recording.get("id"))) for recording in recordings],
        "to": [first, second, "all", "@root", f"role:{first}"],
    }


if __name__ == "__main__":
    # SOCKET TEAM DIRECTORY PROCESS PROCESS AGENT…: as whoever runs it. Says what there is, as JSON.
    socket, team, directory, runs, ended, *agents = sys.argv[1:]
    print(
        json.dumps(
            plant(
                asking(Identity(team, over_socket(socket))), team, agents, directory, (runs, ended), getpass.getuser()
            )
        )
    )
