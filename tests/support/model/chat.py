"""`POST /v1/chat/completions`, as OpenCode, pi and Aider speak it to a model of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.script import Asked, Say, Turn

PATH = "/v1/chat/completions"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def read(body: dict[str, Any]) -> Asked:
    """The request."""
    words, taken = "", 0
    results: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "user":
            words, taken, results = _text(message["content"]), 0, []
        elif role == "assistant":
            taken += 1
        elif role == "tool":
            results.append(_text(message["content"]))
    return Asked(words, taken, results, [tool["function"]["name"] for tool in body.get("tools", [])])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _message(turn: Turn, number: int) -> dict[str, Any]:
    if isinstance(turn, Say):
        return {"role": "assistant", "content": turn.text}
    function = {"name": turn.tool, "arguments": json.dumps(dict(turn.arguments))}
    call = {"index": 0, "id": f"call_{number:06}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _reason(turn: Turn) -> str:
    return "stop" if isinstance(turn, Say) else "tool_calls"


def answer(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The whole completion."""
    choice = {"index": 0, "message": _message(turn, number), "finish_reason": _reason(turn)}
    return {
        "id": f"chatcmpl-{number:06}",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [choice],
        "usage": _USAGE,
    }


def stream(turn: Turn, body: dict[str, Any], number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The completion as chunks. Their events have no names."""
    head = {"id": f"chatcmpl-{number:06}", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    first = {"index": 0, "delta": _message(turn, number), "finish_reason": None}
    yield "", {**head, "choices": [first]}
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(turn)}], "usage": _USAGE}
