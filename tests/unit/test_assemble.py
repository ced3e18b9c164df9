from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.query.assemble import assemble
from clew.types import StoredChunk, StoredSection


def _words(text: str) -> int:
    return len(text.split())


def _section(number: int, text: str) -> StoredSection:
    return StoredSection(
        id=number, document_id="d", ordinal=number, start=0, end=len(text), headings=(), text=text
    )


def _chunk(number: int, section: StoredSection, start: int, end: int) -> StoredChunk:
    return StoredChunk(
        id=number,
        document_id="d",
        source="notes.md",
        title="Notes",
        ordinal=number,
        section_id=section.id,
        start=start,
        end=end,
        page=None,
        text=section.text[start:end],
        context="Notes",
        key=None,
        metadata={},
    )


def test_sections_come_whole_in_the_order_of_their_best_chunk() -> None:
    sections = {n: _section(n, f"alpha beta section{n} gamma delta") for n in (1, 2)}
    chunks = [
        _chunk(1, sections[2], 0, 5),
        _chunk(2, sections[1], 0, 5),
        _chunk(3, sections[2], 6, 10),
    ]
    context = assemble(chunks, sections, 100, _words)
    assert context.text == (
        "[1] Notes\nalpha beta section2 gamma delta\n\n[2] Notes\nalpha beta section1 gamma delta"
    )
    assert [c.chunk_ids for c in context.citations] == [("d#1", "d#3"), ("d#2",)]
    assert context.left_out == 0


def test_a_section_too_large_gives_way_to_its_chunk() -> None:
    section = _section(1, "the answer is here " + "filler " * 50)
    context = assemble([_chunk(1, section, 0, 18)], {1: section}, 10, _words)
    assert context.text == "[1] Notes\nthe answer is here"
    assert (context.citations[0].start, context.citations[0].end) == (0, 18)


def test_what_does_not_fit_is_counted() -> None:
    sections = {n: _section(n, "word " * 20) for n in range(1, 4)}
    chunks = [_chunk(n, sections[n], 0, 99) for n in sections]
    context = assemble(chunks, sections, 30, _words)
    assert (len(context.citations), context.left_out) == (1, 2)


def test_a_chunk_whose_section_vanished_is_left_out() -> None:
    section = _section(1, "text")
    assert assemble([_chunk(1, section, 0, 4)], {}, 100, _words).text == ""


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=8),
    st.integers(0, 120),
)
def test_the_context_never_exceeds_its_budget(sizes: list[int], budget: int) -> None:
    sections = {n: _section(n, "word " * size) for n, size in enumerate(sizes)}
    chunks = [_chunk(n, section, 0, 4) for n, section in sections.items()]
    context = assemble(chunks, sections, budget, _words)
    assert _words(context.text) <= context.tokens <= budget
    assert len(context.citations) + context.left_out == len(sizes)
    assert [c.number for c in context.citations] == list(range(1, len(context.citations) + 1))
