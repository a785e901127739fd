"""Messages: what was sent is in every mailbox until it is acked there, once, and what was acked stays so."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.history.record import FAIL, Operation


def problems(history: Sequence[Operation], inboxes: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """What is wrong, in words. At the end every mailbox is looked into once more."""
    acked = {(one.client, one.asked["message"]): one for one in history if one.what == "ack" and one.ok}
    tried = {(one.client, one.asked["message"]) for one in history if one.what == "ack" and one.outcome != FAIL}
    found = []
    for client, inbox in inboxes.items():
        texts = Counter(message["preview"] for message in inbox)
        found += [f"{client} has {text!r} {count} times" for text, count in texts.items() if count > 1]
        found += [
            f"{client} acked {message['message']}, and has it again"
            for message in inbox
            if (client, message["message"]) in acked
        ]
    for one in history:
        if one.what == "send" and one.ok:
            message = one.told["message"]
            for client in one.asked["to"]:
                there = message in {other["message"] for other in inboxes[client]}
                if not there and (client, message) not in tried:
                    found.append(f"{message} to {client} is lost")
        elif one.what == "send" and one.outcome == FAIL:
            for client in one.asked["to"]:
                if one.asked["text"] in {message["preview"] for message in inboxes[client]}:
                    found.append(f"{one.asked['text']!r} was refused and is with {client}")
        elif one.what == "inbox" and one.ok:
            for message in one.told["messages"]:
                ack = acked.get((one.client, message["message"]))
                if ack is not None and ack.ended < one.began:
                    found.append(f"{one.client} acked {message['message']}, and saw it again")
    return found
