"""What is asked about entries of the inbox."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from corral.api.requests import Body
from corral.domain.errors import WrongUseError
from corral.domain.inbox import SNOOZE_SECONDS
from corral.domain.inbox_answers import LARGEST_TEXT, Answer


class AnswerBody(Body, frozen=True):
    """`POST /v1/inbox/{entry}/answer`: one of the three"""

    say: Annotated[
        Literal["approve", "deny", ""], Meta(description="yes or no, by the keys that the profile knows")
    ] = ""
    option: Annotated[int, Meta(description="the number of a choice of the dialog")] = 0
    text: Annotated[str, Meta(description="words to be sent, up to 1 MiB")] = ""

    def answer(self) -> Answer:
        if sum((bool(self.say), self.option != 0, bool(self.text))) != 1:
            raise WrongUseError("one answer is needed", 'give "say", "option" or "text"')
        if len(self.text.encode()) > LARGEST_TEXT:
            raise WrongUseError(f"the answer has more than {LARGEST_TEXT} bytes", "put it into a file, and name that")
        return Answer(say=self.say, option=self.option, text=self.text)


class SnoozeBody(Body, frozen=True):
    """`POST /v1/inbox/{entry}/snooze`"""

    seconds: Annotated[float, Meta(description="so long nobody is told of it")] = SNOOZE_SECONDS
