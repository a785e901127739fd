"""A large team is started part by part: nobody is left out, nobody comes twice, and the order stays."""

from itertools import chain
from typing import Any, cast

import pytest

from corral.supervise import launching


@pytest.mark.parametrize(
    "count", [0, 1, launching._PART, launching._PART + 1, launching._FIRST_PART + launching._PART, 500]
)
def test_everybody_is_in_one_part_and_in_order(count: int) -> None:
    agents = cast(Any, list(range(count)))
    parts = list(launching._parts(agents))
    assert list(chain.from_iterable(parts)) == agents
    assert all(parts)


def test_those_that_fit_into_one_part_are_in_one() -> None:
    assert len(list(launching._parts(cast(Any, list(range(launching._PART)))))) == 1


def test_the_first_part_of_several_is_small_so_that_tmux_soon_has_work() -> None:
    first, *others = launching._parts(cast(Any, list(range(3 * launching._PART))))
    assert len(first) == launching._FIRST_PART
    assert max(map(len, others)) == launching._PART
