"""`POST /v1/responses`, as Codex speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model.script import Asked, Say, Turn

PATH = "/v1/responses"
_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")


def read(body: dict[str, Any]) -> Asked:
    """The request."""
    words, taken = "", 0
    results: list[str] = []
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] == "user":
            said = "\n".join(part.get("text", "") for part in item["content"])
            # Several in a row are one: the agent puts what it has to tell of its surroundings before a person's words.
            words, taken, results = said if taken else f"{words}\n{said}", 0, []
        elif kind in _CALLS or (kind == "message" and item["role"] == "assistant"):
            taken += 1
        elif kind.endswith("_output"):
            output = item["output"]
            results.append(output if isinstance(output, str) else json.dumps(output))
    return Asked(words, taken, results, [tool.get("name", tool["type"]) for tool in body.get("tools", [])])


def answer(turn: Turn, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The whole response."""
    if isinstance(turn, Say):
        item: dict[str, Any] = {
            "type": "message",
            "id": f"msg_{number:06}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
        }
    else:
        item = {
            "type": "function_call",
            "id": f"fc_{number:06}",
            "call_id": f"call_{number:06}",
            "name": turn.tool,
            "arguments": json.dumps(dict(turn.arguments)),
            "status": "completed",
        }
    return {
        "id": f"resp_{number:06}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
        "output": [item],
        "usage": _USAGE,
    }


def stream(turn: Turn, body: dict[str, Any], number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The response as events."""
    whole = answer(turn, body, number)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    (item,) = whole["output"]
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    for at, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": at}
