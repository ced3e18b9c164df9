from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.search.answer.blocks import Block, Form, assemble, cite, passage_block, section_block
from clew.text import one_line, quoted
from clew.types import StoredChunk, StoredSection
from tests.contexts import Part, parts_of, unquoted


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
    assert context.text == "[1] Notes\n> alpha beta gamma delta"
    assert [c.chunk_ids for c in context.citations] == [("d#3", "d#1")]
    assert (context.left_out, context.tokenizer) == (0, "words")


def test_a_section_too_large_gives_way_to_its_chunk() -> None:
    section = _section(1, "the answer is here " + "filler " * 50)
    context = assemble([section_block(section, [_chunk(1, section, 0, 18)])], 11, _words)
    assert context.text == "[1] Notes\n> the answer is here"
    assert (context.citations[0].start, context.citations[0].end) == (0, 18)


@pytest.mark.parametrize("budget", range(1, 60))
def test_of_the_best_part_as_much_is_kept_as_fits(budget: int) -> None:
    best = _section(1, " ".join(f"word{n}" for n in range(50)))
    other = _section(2, "beside the point")
    blocks = [
        section_block(section, [_chunk(section.id, section, 0, len(section.text))])
        for section in (best, other)
    ]

    context = assemble(blocks, budget, _words)

    assert len(context.text.split()) <= context.tokens <= budget
    assert context.left_out == len(blocks) - len(context.parts)
    if budget >= 11:  # a line of it
        first, *_ = context.parts
        assert context.is_cut is (budget < 53)
        shown = unquoted(first.text.partition("\n")[2]).removesuffix("…")
        assert f"{best.text} ".startswith(f"{shown} ")
        assert len(first.text.split()) == min(budget, 53)


def test_what_does_not_fit_is_counted() -> None:
    sections = [_section(n, "word " * 20) for n in range(1, 4)]
    parts = [section_block(section, [_chunk(1, section, 0, 99)]) for section in sections]
    context = assemble(parts, 30, _words)
    assert (len(context.citations), context.left_out) == (1, 2)


def test_the_best_are_chosen_and_then_stand_in_their_places_under_their_groups() -> None:
    section = _section(1, "one two three")
    parts = [
        replace(passage_block(_chunk(1, section, 8, 13)), group="2021", place=3),
        replace(passage_block(_chunk(2, section, 0, 3)), group="2019", place=1),
        replace(passage_block(_chunk(3, section, 4, 7)), group="2019", place=2),
    ]
    context = assemble(parts, 100, _words)
    assert context.text == (
        "## 2019\n\n[1] Notes\n> one\n\n[2] Notes\n> two\n\n## 2021\n\n[3] Notes\n> three"
    )
    assert [c.chunk_ids for c in context.citations] == [("d#2",), ("d#3",), ("d#1",)]

    tight = assemble(parts, 9, _words)
    assert tight.text == "## 2021\n\n[1] Notes\n> three"
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
        blocks.append(
            replace(passage_block(_chunk(n, section, 0, 5 * size)), group=group, place=place)
        )
    context = assemble(blocks, budget, _words)
    assert _words(context.text) <= context.tokens <= budget
    assert len(context.citations) + context.left_out == len(blocks)


# Texts that try to look like the end of their part, or like another part.
_MARKS = ("\n\n[2] Notes\n", "\n[2] ", "\n\n## 2024\n\n", "\n\nTopics\n", "\n>", "\n> ", ">", " ")
_BREAKS = ("\r\n", "\n\n", "\r\r", "\n\r\n\r", *"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_FORGERIES = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from(_MARKS + _BREAKS)), max_size=12
).map("".join)


@given(_FORGERIES)
def test_a_text_can_be_quoted_and_got_back(text: str) -> None:
    written = quoted(text)
    assert unquoted(written) == text
    assert all(line.startswith(">") for line in written.splitlines())
    assert "\n\n" not in written


@given(
    st.lists(
        st.tuples(_FORGERIES, _FORGERIES, st.sampled_from(["", "2019", "2024"]), st.booleans()),
        max_size=6,
    )
)
def test_no_text_can_forge_a_part(given_parts: list[tuple[str, str, str, bool]]) -> None:
    blocks, expected, number = [], [], 0
    for text, title, group, cited in sorted(given_parts, key=lambda part: part[2]):
        chunk = replace(_chunk(1, _section(1, text), 0, len(text)), title=title)
        source = cite(chunk, [chunk], 0, len(text))
        number += cited
        heading = f"[0] {title}" if cited else "Topics"
        form = Form(text=text, citations=(source,) if cited else ())
        blocks.append(Block(heading=heading, forms=(form,), group=group))
        expected.append(Part(group, number if cited else None, one_line(heading), text))
    context = assemble(blocks, 10**6, len)
    assert parts_of(context.text) == expected
    assert [c.number for c in context.citations] == list(range(1, number + 1))
