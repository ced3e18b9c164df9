from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clew.indexing.splitting.split import pack
from clew.indexing.splitting.units import Break, Unit

WEIGHTS = st.lists(st.tuples(st.integers(0, 10), st.sampled_from(Break)), min_size=1, max_size=60)


def line_up(weights: list[tuple[int, Break]]) -> list[Unit]:
    return [Unit(i, i + 1, weight, strength) for i, (weight, strength) in enumerate(weights)]


def total(units: list[Unit], start: int, end: int) -> int:
    return sum(unit.weight for unit in units[start:end])


@given(weights=WEIGHTS, limit=st.integers(10, 40), overlap=st.floats(0, 0.5))
def test_spans_cover_all_within_the_limit(
    weights: list[tuple[int, Break]], limit: int, overlap: float
) -> None:
    units = line_up(weights)
    spans = pack(units, limit, overlap=overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(units)
    assert all(total(units, *span) <= limit for span in spans)
    for (a, b), (c, d) in pairwise(spans):
        assert a < c <= b < d
        assert not any(units[i].strength >= Break.HEADING for i in range(c + 1, b + 1) if c < b)


@given(weights=WEIGHTS, limit=st.integers(10, 40))
def test_without_overlap_spans_are_a_partition(
    weights: list[tuple[int, Break]], limit: int
) -> None:
    spans = pack(line_up(weights), limit)
    assert all(b == c for (_, b), (c, _) in pairwise(spans))


@given(weights=WEIGHTS, always=st.sampled_from(Break))
def test_a_border_of_the_strength_asked_for_always_ends_a_span(
    weights: list[tuple[int, Break]], always: Break
) -> None:
    units = line_up(weights)
    ends = {end for _, end in pack(units, 1000, always=always)}
    assert ends == {i for i in range(1, len(units)) if units[i].strength is always} | {len(units)}


def test_the_strongest_border_wins_over_a_fuller_span() -> None:
    weights = [(1, Break.SENTENCE)] * 20
    weights[7] = (1, Break.PARAGRAPH)
    assert pack(line_up(weights), 12)[0] == (0, 7)


def test_spans_are_evened_out() -> None:
    units = line_up([(1, Break.SENTENCE)] * 21)
    assert [b - a for a, b in pack(units, 20)] == [10, 11]


def test_overlap_goes_back_to_a_sentence_not_into_one() -> None:
    words = [(1, Break.WORD)] * 40
    words[0] = words[13] = words[20] = (1, Break.SENTENCE)
    spans = pack(line_up(words), 20, overlap=0.3)
    assert spans[0] == (0, 20)
    assert spans[1][0] == 13


def test_what_fits_has_the_last_word() -> None:
    units = line_up([(1, Break.SENTENCE)] * 30)
    spans = pack(units, 10, fits=lambda first, last: last.end - first.start <= 6)
    assert max(b - a for a, b in spans) == 6
    assert pack(units[:1], 10, fits=lambda *_: False) == [(0, 1)]


def test_overlap_gives_way_to_what_fits() -> None:
    units = line_up([(w, Break.SENTENCE) for w in (3, 3, 3, 3, 3, 3, 12, 12)])
    units[6] = Unit(6, 7, 12, Break.PARAGRAPH)
    assert pack(units, 18, overlap=0.3) == [(0, 6), (4, 7), (7, 8)]
    spans = pack(units, 18, overlap=0.3, fits=lambda first, last: last.end - first.start != 3)
    assert spans == [(0, 6), (5, 7), (7, 8)]


def test_a_unit_over_the_limit_makes_a_span_of_its_own() -> None:
    units = line_up([(3, Break.SENTENCE), (30, Break.SENTENCE), (3, Break.SENTENCE)])
    assert pack(units, 10, overlap=0.5) == [(0, 1), (1, 2), (2, 3)]
