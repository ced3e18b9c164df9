"""Caches hold no more bytes than they say, whatever they are asked."""

from __future__ import annotations

import pickle
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.search.session import RecentlyUsed
from clew.text import cached


@pytest.mark.parametrize("longest", [8, 48, 200])
@pytest.mark.parametrize("letter", ["a", "\N{GRINNING FACE}"])
@pytest.mark.parametrize("beyond", [False, True])
def test_what_is_kept_of_texts_takes_no_more_than_was_allowed(
    longest: int, letter: str, beyond: bool
) -> None:
    @cached(2, longest=longest)
    def doubled(text: str) -> tuple[str, ...]:
        return (f"{text[::-1]}",)

    length = 100 * longest if beyond else longest
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(4000 if beyond else 12_000):
        doubled(f"{number:08}".ljust(length, letter))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < (100_000 if beyond else 2_000_000)


@given(
    texts=st.lists(st.tuples(st.text(max_size=12), st.none() | st.text(max_size=12)), max_size=30)
)
def test_a_cached_function_answers_as_it_would_without(
    texts: list[tuple[str, str | None]],
) -> None:
    calls: list[tuple[str, str | None]] = []

    @cached(0.01, longest=10)
    def joined(one: str, other: str | None) -> str:
        calls.append((one, other))
        return f"{one}|{other}"

    for one, other in [*texts, *texts]:
        assert joined(one, other) == f"{one}|{other}"
    short = {pair for pair in texts if len(pair[0]) + len(pair[1] or "") <= 10}
    if len(short) <= 10:
        assert all(calls.count(pair) == 1 for pair in short)


@given(
    puts=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 400)), max_size=60),
    size=st.integers(0, 8),
    kilobytes=st.floats(0, 2),
)
def test_values_used_last_stay_within_number_and_bytes(
    puts: list[tuple[int, int]], size: int, kilobytes: float
) -> None:
    kept: RecentlyUsed[int, bytes] = RecentlyUsed(size, megabytes=kilobytes / 1000)
    last: dict[int, bytes] = {}
    for key, length in puts:
        last[key] = bytes(length)
        kept.put(key, last[key])
        held = {key: value for key in last if (value := kept.get(key)) is not None}
        assert all(value == last[key] for key, value in held.items())
        assert len(held) <= size
        weights = [len(pickle.dumps(item, pickle.HIGHEST_PROTOCOL)) for item in held.items()]
        assert sum(weights) <= 1000 * kilobytes
        if size and len(pickle.dumps((key, last[key]), pickle.HIGHEST_PROTOCOL)) <= int(
            1000 * kilobytes
        ):
            assert key in held, "what was put last"
