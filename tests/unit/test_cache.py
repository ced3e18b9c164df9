from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.search.session import RecentlyUsed


def test_the_one_not_asked_for_the_longest_goes_first() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_a_value_is_made_once() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    made: list[str] = []

    def make() -> int:
        made.append("made")
        return 7

    assert [kept.get_or_make("a", make) for _ in range(3)] == [7, 7, 7]
    assert made == ["made"]


def test_a_size_of_none_keeps_none() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(0)
    kept.put("a", 1)
    assert kept.get("a") is None


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans())), st.integers(0, 4))
def test_it_holds_the_latest_distinct_keys(steps: list[tuple[int, bool]], size: int) -> None:
    kept: RecentlyUsed[int, int] = RecentlyUsed(size)
    order: list[int] = []
    for key, reading in steps:
        if reading:
            assert kept.get(key) == (key if key in order else None)
            if key not in order:
                continue
        else:
            kept.put(key, key)
        order = [*(k for k in order if k != key), key]
        order = order[len(order) - size :] if len(order) > size else order
