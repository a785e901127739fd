"""Tasks that are forgotten on purpose, and what nothing but others' claims holds up."""

import pytest

from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.task_records import Claim, NewTask
from corral.domain.tasks import Backlog, Moment


class Book:
    """A backlog with a counter."""

    def __init__(self) -> None:
        self.backlog = Backlog()
        self._revision = 0

    def moment(self) -> Moment:
        self._revision += 1
        return Moment(self._revision, 0.0, "ann")

    def add(self, title: str = "x", *after: str, labels: tuple[str, ...] = (), backoff: float = 0.0) -> str:
        new = NewTask(title=title, after=after, labels=labels, key=title, max_attempts=2, backoff=backoff)
        return self.backlog.add(new, self.moment(), "ann").task.id

    def claim(self, by: str = "shop/a", *labels: str) -> tuple[str, int]:
        number = self.backlog.first(frozenset(labels))
        assert number is not None
        token = self.moment().revision
        claim = Claim(token=token, by=by, agent="", run="", ttl=60.0, time=0.0)
        return self.backlog.claim(number, claim, 0.0).task.id, token


@pytest.fixture
def book() -> Book:
    return Book()


def test_what_is_done_or_dead_goes_and_its_key_is_free_again(book: Book) -> None:
    for end in ("done", "dead"):
        task = book.add("x")
        _, token = book.claim()
        if end == "done":
            book.backlog.done(task, token, book.moment())
        else:
            book.backlog.fail(task, token, book.moment(), final=True)
        assert book.backlog.remove(task).id == task
        with pytest.raises(NotFoundError):
            book.backlog.get(task)
    assert len(book.backlog) == 0


def test_what_is_open_stays_unless_it_is_forced(book: Book) -> None:
    ready, waiting = book.add("ready"), ""
    waiting = book.add("waiting", ready)
    for task, state in ((ready, "ready"), (waiting, "waiting")):
        with pytest.raises(RefusedError) as caught:
            book.backlog.remove(task)
        assert caught.value.details["state"] == state
    claimed, token = book.claim()
    assert claimed == ready
    book.backlog.remove(ready, force=True)
    with pytest.raises(NotFoundError):
        book.backlog.done(ready, token, book.moment())
    # What waited for it waits no more, and so it is after a restart.
    assert book.backlog.state(book.backlog.get(waiting)) == "ready"
    assert Backlog(book.backlog).state(book.backlog.get(waiting)) == "ready"
    book.backlog.remove(waiting, force=True)
    assert book.backlog.first(frozenset()) is None
    assert book.backlog.ready == 0


def test_a_dead_one_that_others_wait_for_stays(book: Book) -> None:
    first = book.add("first")
    second = book.add("second", first)
    _, token = book.claim()
    book.backlog.fail(first, token, book.moment(), final=True)
    with pytest.raises(RefusedError) as caught:
        book.backlog.remove(first)
    assert caught.value.details["needed_by"] == [second]


def test_who_waits_for_a_task_waits_for_those_who_have_what_it_needs(book: Book) -> None:
    assert book.backlog.obstacles(frozenset()) == []
    first = book.add("first")
    second = book.add("second", first)
    third = book.add("third", second)
    assert book.backlog.obstacles(frozenset()) is None  # somebody else may take the first
    book.claim("shop/a")
    assert book.backlog.obstacles(frozenset()) == [
        {"shop/a": f"{first}, which {second} needs"},
        {"shop/a": f"{first}, which {third} needs"},
    ]
    labelled = book.add("labelled", first, labels=("gpu",))
    assert len(book.backlog.obstacles(frozenset()) or ()) == 2
    assert len(book.backlog.obstacles(frozenset(["gpu"])) or ()) == 3
    book.backlog.remove(labelled, force=True)
    assert len(book.backlog.obstacles(frozenset(["gpu"])) or ()) == 2


def test_one_that_rests_comes_by_itself(book: Book) -> None:
    first = book.add("first")
    book.add("second", first)
    book.claim()
    resting = book.add("resting", backoff=5.0)
    _, token = book.claim()
    assert book.backlog.obstacles(frozenset())
    book.backlog.fail(resting, token, book.moment())
    assert book.backlog.obstacles(frozenset()) is None
