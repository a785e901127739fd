"""What one person may have of what a shared server has one of, however much of it is left.

Whatever is kept there for somebody has the name of the person in whose share it counts: of whoever wrote it, or whose
team it is for. A share is nobody else's to spend, and does not depend on what others have of theirs. Where all are one
person's, that name is empty, and there are no shares.
"""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain.errors import RefusedError

#: Agents of one's teams, whatever they do: each is asked about, listed and looked after. A team without agents counts
#: as one.
AGENTS = 200
#: Ports that agents have in their blocks: as many as so many agents usually have, a fifth of those that blocks are
#: usually cut from.
PORTS = 2000
#: Bytes of messages that are not acked or wait to be typed, of values and of tasks together: the daemon has them in
#: memory.
BYTES = 512 << 20


def too_many_agents(person: str, has: int, more: int) -> RefusedError:
    """What is said of agents that are not made, because their person has enough of them."""
    return RefusedError(
        f"teams of {person} have {has} agents, and may have {AGENTS} on this host: there is no room for {more} more",
        "corral rm, or corral down, makes room; corral up NAME … starts some of a file's",
    )


def no_ports_left(person: str, has: int, block: int) -> RefusedError:
    """What is said of an agent for whom there is no block, because its person has enough of them."""
    return RefusedError(
        f"agents of {person} have {has} of the {PORTS} ports that one person may have on this host: a block of {block} "
        "is more than is left",
        "corral rm, or corral down, frees those of agents that are not needed; so do smaller blocks below [ports], "
        "down to 10 ports",
    )


def no_room_left(person: str, has: int) -> RefusedError:
    """What is said of something that is to be kept, because enough of its person's is."""
    return RefusedError(
        f"messages, values and tasks of {person} have {has} bytes; one person's may have {BYTES} on this host",
        "ack messages (corral msg ls --sent), remove values (corral kv rm) and tasks (corral task rm) that are not "
        "needed; those of a team that is down are there when it is up again",
    )


def given_up(has: Mapping[str, int], most: int) -> dict[str, int]:
    """How much each loses of what is kept for all until it is used up, so that no more than `most` is left together.

    Who has no more than an equal part loses nothing, and of the others none has more left than another.
    """
    lost: dict[str, int] = {}
    left = most
    for before, (person, amount) in enumerate(sorted(has.items(), key=lambda one: one[1])):
        stays = min(amount, left // (len(has) - before))
        left -= stays
        if stays < amount:
            lost[person] = amount - stays
    return lost
