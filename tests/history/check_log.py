"""Topics: what was published is there, once and in order, and every reader is given all of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.history.check_values import out_of_order
from tests.history.record import FAIL, Operation


def problems(history: Sequence[Operation], there_at_the_end: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong, in words. At the end the topic is read once more, in one page."""
    texts = [entry["text"] for entry in there_at_the_end]
    revisions = {entry["revision"]: entry["text"] for entry in there_at_the_end}
    found = out_of_order("the last reader", [entry["revision"] for entry in there_at_the_end])
    found += [f"{text!r} is there {texts.count(text)} times" for text in set(texts) if texts.count(text) > 1]
    for operation in history:
        if operation.what == "publish" and operation.ok:
            if revisions.get(operation.told["revision"]) != operation.asked["text"]:
                found.append(
                    f"{operation.asked['text']!r} was acknowledged as {operation.told['revision']} and is lost"
                )
        elif operation.what == "publish" and operation.outcome == FAIL and operation.asked["text"] in texts:
            found.append(f"{operation.asked['text']!r} was refused and is there")
    for reader in sorted({operation.client for operation in history if operation.what == "heard"}):
        heard = [one.told for one in history if one.what == "heard" and one.client == reader]
        found += out_of_order(reader, [entry["revision"] for entry in heard])
        until = max((entry["revision"] for entry in heard), default=0)
        given = {entry["revision"]: entry["text"] for entry in heard}
        if given != {revision: text for revision, text in revisions.items() if revision <= until}:
            found.append(f"{reader} was not given what is there up to {until}")
    return found
