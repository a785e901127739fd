"""Commands that do the same to each of what was named."""

from corral.cli.failure import of_several
from corral.cli.output import say, write_json
from corral.domain.errors import CorralError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from corral.cli.command import Invocation
    from corral.client.answers import Record


def to_each(
    invocation: "Invocation",
    argument: str,
    act: "Callable[[str], Record]",
    told: "Callable[[Record], str]",
    *,
    always_list: bool = False,
) -> int:
    """Each for itself: one with which it cannot be done keeps no other, and the first of them makes the exit code.

    As JSON one is an object and several are a list, unless it is to be a list always.
    """
    words = invocation.words(argument)
    done: list[Record] = []
    failures: list[CorralError] = []
    for word in words:
        try:
            done.append(act(word))
        except CorralError as error:
            failures.append(error)
    if invocation.json and done:
        write_json(done if always_list or len(words) > 1 else done[0])
    elif not invocation.json:
        for answer in done:
            say(told(answer))
    if failures:
        raise of_several(failures)
    return 0
