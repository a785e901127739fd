"""Every operation about somebody else's things, by their right names: what a caller may not see must not be told.

Made-up requests hit others' things by chance. These name them in each way in which they can be named: in full, by an id
alone, as TEAM/AGENT, and by an id of theirs as if it were in the caller's own team.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from tests.fuzz.edges import Edge, right_body
from tests.fuzz.taming import Ground, right, tamed

_NAMES = ("team", "agent", "cwd")


def aimed(document: Mapping[str, Any], ground: Ground) -> Iterator[Edge]:
    """All of them. As somebody who may do everything, only what does nothing."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method == "get" or not ground.mighty:
                yield from _of_operation(document, ground, path, method.upper(), operation)


def _of_operation(
    document: Mapping[str, Any], ground: Ground, path: str, method: str, operation: Mapping[str, Any]
) -> Iterator[Edge]:
    name = operation["operationId"]
    theirs = replace(ground, team=ground.others["team"][0], agents=ground.others["agent"], known=ground.others)
    parameters = operation["parameters"]
    ids = [p["name"] for p in parameters if p["in"] == "path"]
    takes = {p["name"] for p in parameters if p["in"] == "query"}
    content = operation.get("requestBody", {}).get("content", {})
    for known in _each(right(theirs), ids, ground.others):
        needed = {p["name"]: known.get(p["name"], 1) for p in parameters if p["in"] == "query" and p["required"]}
        target = path.format(**{one: quote(str(known.get(one, "x")), safe="") for one in ids})
        body, fields = right_body(document, content, known)
        full = {name: known[name] for name in ("team", "agent") if name in takes}
        # From the beginning, where there is one to say: what was before is what is planted.
        needed |= dict.fromkeys({"after"} & takes, 0)
        for how, query, names in (
            ("in full", {**needed, **full}, {name: known[name] for name in ("team", "agent") if name in fields}),
            ("alone", needed, {}),
            ("as TEAM/AGENT", {**needed, "agent": f"{theirs.team}/{theirs.agents[0]}"}, {}),
            ("as if it were one's own", {**needed, "team": ground.team}, {"team": ground.team}),
        ):
            if how == "as TEAM/AGENT" and "agent" not in takes:
                continue
            meant = {name: value for name, value in body.items() if name not in _NAMES} | names if fields else body
            calm, sent = tamed(name, ground, dict(query), meant)
            raw = sent if isinstance(sent, bytes) or sent is None else json.dumps(sent).encode()
            yield Edge(name, f"theirs, {how}", method, f"{target}?{urlencode(calm, doseq=True)}", raw)


def _each(
    known: Mapping[str, Any], ids: Sequence[str], others: Mapping[str, Sequence[Any]]
) -> Iterator[Mapping[str, Any]]:
    """What is meant, once for each thing of theirs that the path can name."""
    yield known
    for name in ids:
        for value in others.get(name, ())[1:]:
            yield {**known, name: value}
