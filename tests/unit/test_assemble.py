from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.query.assemble import assemble
from clew.query.blocks import Block, Form, passage_block, section_block
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


def test_sections_come_whole_and_name_the_chunks_found_in_them() -> None:
    section = _section(1, "alpha beta gamma delta")
    block = section_block(section, [_chunk(3, section, 6, 10), _chunk(1, section, 0, 5)])
    context = assemble([block], 100, _words, "words")
    assert context.text == "[1] Notes\nalpha beta gamma delta"
    assert [c.chunk_ids for c in context.citations] == [("d#3", "d#1")]
    assert (context.left_out, context.tokenizer) == (0, "words")


def test_a_section_too_large_gives_way_to_its_chunk() -> None:
    section = _section(1, "the answer is here " + "filler " * 50)
    context = assemble([section_block(section, [_chunk(1, section, 0, 18)])], 10, _words)
    assert context.text == "[1] Notes\nthe answer is here"
    assert (context.citations[0].start, context.citations[0].end) == (0, 18)


def test_what_does_not_fit_is_counted() -> None:
    sections = [_section(n, "word " * 20) for n in range(1, 4)]
    parts = [section_block(section, [_chunk(1, section, 0, 99)]) for section in sections]
    context = assemble(parts, 30, _words)
    assert (len(context.citations), context.left_out) == (1, 2)


def test_the_best_are_chosen_and_then_stand_in_their_places_under_their_groups() -> None:
    section = _section(1, "one two three")
    parts = [
        passage_block(_chunk(1, section, 8, 13), group="2021", place=3),
        passage_block(_chunk(2, section, 0, 3), group="2019", place=1),
        passage_block(_chunk(3, section, 4, 7), group="2019", place=2),
    ]
    context = assemble(parts, 100, _words)
    assert context.text == (
        "## 2019\n\n[1] Notes\none\n\n[2] Notes\ntwo\n\n## 2021\n\n[3] Notes\nthree"
    )
    assert [c.chunk_ids for c in context.citations] == [("d#2",), ("d#3",), ("d#1",)]

    tight = assemble(parts, 8, _words)
    assert tight.text == "## 2021\n\n[1] Notes\nthree"
    assert tight.left_out == 2


def test_a_part_with_several_sources_has_one_number() -> None:
    section = _section(1, "one two three")
    sources = tuple(
        citation
        for start, end in ((0, 3), (4, 7))
        for citation in passage_block(_chunk(1, section, start, end)).forms[0].citations
    )
    report = Block(heading="Report", forms=(Form(text="both", citations=sources),))
    context = assemble([report], 100, _words)
    assert [(c.number, c.start) for c in context.citations] == [(1, 0), (1, 4)]


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.sampled_from(["", "a", "b"]), st.integers(0, 5)),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 120),
)
def test_the_context_never_exceeds_its_budget(
    parts: list[tuple[int, str, int]], budget: int
) -> None:
    blocks = []
    for n, (size, group, place) in enumerate(parts):
        section = _section(n, "word " * size)
        blocks.append(passage_block(_chunk(n, section, 0, 5 * size), group=group, place=place))
    context = assemble(blocks, budget, _words)
    assert _words(context.text) <= context.tokens <= budget
    assert len(context.citations) + context.left_out == len(blocks)
