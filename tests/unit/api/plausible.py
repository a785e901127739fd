"""A plausible request for every route: what somebody would send who means it."""

from urllib.parse import urlencode

from corral.api.endpoint import Endpoint

_TOML = '[team]\nname = "shop"\n\n[agents.a]\ncommand = ["cat"]\n'
_QUERY = {
    "agent": "a",
    "team": "shop",
    "cwd": "/x",
    "key": "k",
    "after": "0",
    "path": "src/a.py",
    "signal": "INT",
    "columns": "80",
    "rows": "24",
    "mode": "observe",
    "topic": "t",
    "event": "PreToolUse",
    "receipt": "r",
    "run": "r1",
    "verb": "send",
}
_PATH = {
    "process": "p-000000000001",
    "lease": "l1",
    "merge": "m1",
    "message": "m1",
    "task": "t1",
    "entry": "1",
    "recording": "r1",
    "program": "claude",
    "user": "ben",
    "token": "3f9a6c01d2e4",
}
_BODIES: dict[str, object] = {
    "execute": {"argv": ["true"]},
    "up": {"file": "/x/corral.toml", "text": _TOML},
    "down": {"team": "shop"},
    "fork": {"agent": "a", "name": "c", "team": "shop"},
    "note_fixes": {
        "fixes": [{"check": "c", "subject": "s", "message": "m", "fixed": True, "team": "shop", "agent": "a"}]
    },
    "register_hooks": {"directory": "/x"},
    "change_values": {"puts": {"k": "v"}},
    "acquire_lease": {"patterns": ["src/"]},
    "wait_for_leases": {"patterns": ["src/"]},
    "take_lock": {"name": "n"},
    "send_message": {"to": ["shop/b"], "text": "hello"},
    "steer_session": {"agent": "a", "team": "shop", "action": "mute", "person": "ben"},
    "add_task": {"title": "t"},
    "renew_task": {"token": 1},
    "finish_task": {"token": 1},
    "fail_task": {"token": 1},
    "answer_entry": {"say": "approve"},
    "member_add": {"role": "junior", "teams": ["shop"]},
    "token_add": {"note": "laptop"},
    **{verb: {"team": "shop", "agents": ["a"]} for verb in ("stop", "restart", "remove", "pause", "resume")},
}


def plausible(endpoint: Endpoint, **instead: str) -> tuple[str, object]:
    """The path with its query, and the body. `instead` has other values for the query."""
    path = endpoint.path
    query = {}
    for parameter in endpoint.parameters:
        if f"{{{parameter.name}}}" in path:
            path = path.replace(f"{{{parameter.name}}}", _PATH[parameter.name])
        elif parameter.name in ("agent", "team", "cwd") or parameter.required:
            query[parameter.name] = _QUERY[parameter.name]
    query.update(instead)
    body: object = None
    if isinstance(endpoint.body, str):
        body = b"hello"
    elif endpoint.body is not None:
        body = _BODIES.get(endpoint.handler, {})
    return f"{path}?{urlencode(query)}" if query else path, body
