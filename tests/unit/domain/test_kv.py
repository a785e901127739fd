"""What a transaction does to the values of a team, and when it does nothing: against a model, and case by case."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.kv import LARGEST_VALUE, LONGEST_KEY, MOST_BYTES, MOST_IN_ONE, Transaction, Value, Values


def put(values: Values, key: str, value: bytes, revision: int, seen: int | None = None) -> None:
    conditions = {} if seen is None else {key: seen}
    values.transact(Transaction(puts={key: value}, if_revisions=conditions), revision, "ann", 0.0)


def test_a_value_has_the_revision_of_its_last_change_and_of_its_first() -> None:
    values = Values()
    put(values, "a", b"1", 5)
    put(values, "a", b"2", 9)
    assert values.get("a") == Value(b"2", 9, 5, "ann", 0.0)


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="there is no value of a"):
        Values().get("a")


def test_a_lost_compare_changes_nothing_and_says_what_is_there() -> None:
    values = Values()
    put(values, "a", b"1", 1)
    with pytest.raises(RefusedError) as caught:
        values.transact(Transaction(puts={"a": b"2", "b": b"2"}, if_revisions={"a": 7}), 2, "bob", 0.0)
    assert caught.value.details == {"key": "a", "revision": 1}
    assert [key for key, _ in values.below("")] == ["a"]
    assert values.get("a").value == b"1"
    with pytest.raises(RefusedError, match="was not there, and has revision 1"):
        put(values, "a", b"2", 3, seen=0)
    put(values, "a", b"2", 4, seen=1)


def test_keys_come_in_their_order_and_by_their_beginning() -> None:
    values = Values()
    for number, key in enumerate(["b", "a/2", "a/1", "ab"], 1):
        put(values, key, b"", number)
    assert [key for key, _ in values.below("a/")] == ["a/1", "a/2"]
    assert [key for key, _ in values.below("")] == ["a/1", "a/2", "ab", "b"]


@pytest.mark.parametrize(
    ("transaction", "message"),
    [
        (Transaction(), "changes nothing"),
        (Transaction(if_revisions={"a": 1}), "changes nothing"),
        (Transaction(puts={"": b""}), "empty"),
        (Transaction(puts={"a\nb": b""}), "cannot be a key"),
        (Transaction(puts={" a": b""}), "cannot be a key"),
        (Transaction(puts={"a\0": b""}), "cannot be a key"),
        (Transaction(puts={"\udcff": b""}), "must be text"),
        (Transaction(puts={"a" * (LONGEST_KEY + 1): b""}), "too long"),
        (Transaction(puts={"a": b"x" * (LARGEST_VALUE + 1)}), "are the most"),
        (Transaction(puts={"a": b""}, drops=["a"]), "at once"),
        (Transaction(puts={"a": b""}, if_revisions={"a": -1}), "revision -1"),
        (Transaction(puts={str(number): b"" for number in range(MOST_IN_ONE + 1)}), "at once"),
    ],
)
def test_what_can_be_no_transaction_is_refused_in_words(transaction: Transaction, message: str) -> None:
    values = Values()
    with pytest.raises(WrongUseError) as caught:
        values.transact(transaction, 1, "ann", 0.0)
    assert message in caught.value.message + caught.value.remedy
    assert values.below("") == []


@dataclass
class Model:
    """What anybody would write: a dictionary."""

    values: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def transact(self, transaction: Transaction, revision: int) -> bool:
        for key, seen in transaction.if_revisions.items():
            if self.values.get(key, (b"", 0))[1] != seen:
                return False
        for key in transaction.drops:
            self.values.pop(key, None)
        for key, value in transaction.puts.items():
            self.values[key] = (value, revision)
        return True


keys = st.sampled_from(["a", "b", "c"])
transactions = st.builds(
    Transaction,
    if_revisions=st.dictionaries(keys, st.integers(0, 8), max_size=2),
    puts=st.dictionaries(keys, st.binary(max_size=2), max_size=3),
    drops=st.lists(keys, max_size=2),
)


@given(st.lists(transactions, max_size=12))
def test_it_does_as_the_model_does(sequence: list[Transaction]) -> None:
    values, model = Values(), Model()
    for revision, transaction in enumerate(sequence, 1):
        if (not transaction.puts and not transaction.drops) or set(transaction.puts) & set(transaction.drops):
            continue
        try:
            changed = values.transact(transaction, revision, "ann", 0.0)
        except RefusedError:
            assert not model.transact(transaction, revision)
        else:
            before = dict(model.values)
            assert model.transact(transaction, revision)
            assert set(changed) == set(transaction.puts) | (set(transaction.drops) & set(before))
        assert {key: (value.value, value.revision) for key, value in values.below("")} == model.values


def test_the_values_of_a_team_together_have_a_bound_which_what_goes_makes_room_in() -> None:
    large = b"x" * LARGEST_VALUE
    values = Values()
    most = MOST_BYTES // LARGEST_VALUE
    for number in range(most):
        values.transact(Transaction(puts={f"k{number}": large}), number + 1, "me", 0.0)
    for again in (values, Values(dict(values.below("")))):  # as the next daemon reads them
        with pytest.raises(RefusedError, match="64 MiB"):
            again.transact(Transaction(puts={"more": b"y"}), 100, "me", 0.0)
        again.transact(Transaction(puts={"k0": large}), 101, "me", 0.0)  # no larger than before
        again.transact(Transaction(puts={"k0": b"", "more": b"y"}), 102, "me", 0.0)
        again.transact(Transaction(drops=["k1"]), 103, "me", 0.0)
        again.transact(Transaction(puts={"k1": large}), 104, "me", 0.0)
