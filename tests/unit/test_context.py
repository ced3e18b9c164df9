"""The context of an answer: parts, citations, the answering sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.errors import InputError
from clew.indexing.split import split
from clew.search.answer.blocks import (
    Block,
    Form,
    RetrievalResult,
    assemble,
    cite_chunks,
    format_citations,
    passage_block,
    section_block,
)
from clew.search.hierarchy import by_hierarchy, by_outline
from clew.search.options import Hierarchy, HierarchyStep, parse_hierarchy
from clew.settings import SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.text import quoted
from clew.types import Document, StoredChunk, StoredSection, page_at
from tests.contexts import parts_of, unquoted
from tests.unit.asked import add, day, engine_of, new_session, titles
from tests.unit.test_split import WordPieces

# --- assemble


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


@pytest.mark.parametrize("budget", range(11, 60))  # a line of it
def test_of_the_best_part_as_much_is_kept_as_fits(budget: int) -> None:
    best = _section(1, " ".join(f"word{n}" for n in range(50)))
    other = _section(2, "beside the point")
    blocks = [
        section_block(section, [_chunk(section.id, section, 0, len(section.text))])
        for section in (best, other)
    ]

    context = assemble(blocks, budget, _words)

    first, *_ = context.parts
    assert context.is_cut is (budget < 53)
    shown = unquoted(first.text.partition("\n")[2]).removesuffix("…")
    assert f"{best.text} ".startswith(f"{shown} ")
    assert len(first.text.split()) == min(budget, 53)


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
    chunks = [_chunk(1, section, 0, 3), _chunk(2, section, 4, 7)]
    report = Block(heading="Report", forms=(Form(text="both", citations=cite_chunks(chunks)),))
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
    assert len(context.citations) == len(context.parts) == len(blocks) - context.left_out


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


# --- citations


FORM_FEED = "The clock of Vell was built by Ada Morn.\n\fThe bell of Vell was cast in Lisse."


def test_a_source_has_its_number_title_place_author_day_version_and_name(
    engine: clew.Clew,
) -> None:
    engine.add_documents(
        [
            Document(
                source="letters/7.txt",
                title="A letter",
                text="Ada Morn wrote of the clock of Vell.",
                created_at=day("1820-05-04"),
                metadata={"author": "Ada Morn"},
            ),
            Document(source="note.txt", text="The clock of Vell stands still."),
            Document(
                source="book.pdf",
                title="Book",
                text=FORM_FEED,
                page_starts=(0, FORM_FEED.index("\f")),
            ),
        ]
    )
    engine.add("The clock of Vell, once.", source="again", title="Twice")
    engine.add("The clock of Vell, again.", source="again", title="Twice")
    result = engine.search("clock of Vell", strategy="keyword")
    lines = {line.split("] ", 1)[1] for line in format_citations(result).splitlines()}
    assert lines == {
        "A letter, characters 0–36, Ada Morn, 1820-05-04, letters/7.txt",
        "note.txt, characters 0–31",
        "Book, page 1, book.pdf",
        "Twice, characters 0–25, version 2, again",
    }


# --- pages -------------------------------------------------------------------------------

PAGES = [
    "The bridge of Orle has seven arches. It was built of grey stone.",
    "The ferry of Orle crosses at dawn. Its pilot is a heron keeper.",
    "The granary of Orle burned in the spring. Nobody rebuilt its roof.",
]
ASKED = [
    "How many arches has the bridge of Orle?",
    "When does the ferry of Orle cross?",
    "When did the granary of Orle burn?",
]


def test_a_citation_names_the_page_of_the_sentence(engine: clew.Clew) -> None:
    starts = tuple(accumulate((len(page) + 2 for page in PAGES[:-1]), initial=0))
    book = Document(source="orle.pdf", text="\n\n".join(PAGES), page_starts=starts)
    engine.add_documents([book])
    assert len(engine.store.chunk_ids()) == 1, "one passage reaches over all three pages"
    for number, question in enumerate(ASKED, 1):
        result = engine.search(question)
        said = result.to_dict()["results"][0]["metadata"]
        assert (said["page"], "page_starts" in said) == (number, False), question
        assert [c.page for c in result.context.citations] == [number]
        assert f"page {number}" in format_citations(result)
        assert [source.page for source in engine.ask(question).sources] == [number]
    engine.maintenance.reindex()
    assert engine.search(ASKED[2]).hits[0].chunk.page == 3


SENTENCES = st.lists(
    st.lists(st.sampled_from(["mill", "weir", "heron", "lamp", "moss"]), min_size=1, max_size=8),
    min_size=1,
    max_size=4,
)


@given(st.lists(SENTENCES, min_size=1, max_size=6), st.integers(20, 60))
def test_each_character_of_a_passage_has_its_page(
    pages: list[list[list[str]]], tokens: int
) -> None:
    texts = [" ".join(f"{' '.join(words).capitalize()}." for words in page) for page in pages]
    starts, text = [], ""
    for page in texts:
        text += "\n\n" if text else ""
        starts.append(len(text))
        text += page
    document = Document(source="a.pdf", text=text, page_starts=tuple(starts))
    settings = SplitSettings(chunk_tokens=tokens, section_tokens=4 * tokens)
    for chunk in split(document, settings, WordPieces()).chunks:
        for place in range(chunk.start, chunk.end):
            last = max(at for at, start in enumerate(starts, 1) if start <= place)
            assert page_at(place, chunk.page, chunk.page_starts) == last


# --- Which sentence of a passage answers: one that tells, before one that asks, heads or
# repeats.


QUESTION = "Where does the clock of Vell stand now?"
MAIL = """\
From: Tobias Fenn <tobias@clock-of-vell.example>
To: Ada Morn <ada@clock-of-vell.example>
Subject: Re: The clock of Vell
Date: Tue, 7 May 2024 10:00:00 +0000
Message-ID: <b1@harrow.example>

Now it is shown in the museum in Ostby. They restored its face.

On Mon, 6 May 2024 Ada Morn wrote:
> Where does the clock of Vell stand now? I looked for the clock of Vell in the hall.
"""


def answered(folder: Path, text: str, question: str = QUESTION) -> str:
    """The sentence that the only passage is said to answer with; empty: none."""
    with clew.open(folder, embedder=HashEmbedder()) as store:
        store.add(text, source="a.md", media_type="text/markdown")
        hit = store.search(question, strategy="keyword").hits[0]
    start, end = hit.answer or (hit.chunk.start, hit.chunk.start)
    return hit.chunk.text[start - hit.chunk.start : end - hit.chunk.start]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "Where does the clock of Vell stand now? It went to the museum in Ostby.",
            "It went to the museum in Ostby.",
        ),
        (
            "Where does the clock of Vell stand? Guess! The clock of Vell stands in Ostby.",
            "The clock of Vell stands in Ostby.",
        ),
        ("Who knows where the clock of Vell stands now?", ""),
        (
            "> The clock of Vell stands in the hall.\n\nThat was so, but the clock is in Ostby.",
            "That was so, but the clock is in Ostby.",
        ),
        ("> The clock of Vell stands in the hall now.", ""),
        (
            "# The clock of Vell\n\nThe clock stands in Ostby.",
            "The clock stands in Ostby.",
        ),
    ],
)
def test_what_tells_answers(tmp_path: Path, text: str, answer: str) -> None:
    assert answered(tmp_path, text) == answer


@pytest.mark.parametrize(
    ("question", "never"), [(QUESTION, "wrote:"), ("What happened in May 2024?", "Subject:")]
)
def test_neither_header_nor_quoted_reply_of_a_mail_answers(
    engine: clew.Clew, tmp_path: Path, question: str, never: str
) -> None:
    (tmp_path / "a.eml").write_text(MAIL, encoding="utf-8")
    engine.index([tmp_path / "a.eml"])
    statements = engine.ask(question).statements
    quoted = [said.text for said in statements]
    quoted += [quotation.text for said in statements for quotation in said.quotations]
    assert quoted
    assert not any(text.startswith((">", "From:", "To:", "Subject:")) for text in quoted), quoted
    assert not any(never in text for text in quoted), quoted


def test_of_sentences_with_the_same_words_the_first_answers(tmp_path: Path) -> None:
    # Sets of the same words may run through them in different orders, and a sum may depend on it.
    words = [f"{a}{b}elk" for a in "bdfghklm" for b in "aeiou"]
    for start in range(0, 30, 5):
        asked = words[start : start + 10]
        turned = [" ".join(asked[by:] + asked[:by]) for by in range(10)]
        rarer = [f"They saw {' '.join(asked[:many])}.\n" for many in range(1, 9)]
        text = "".join([*(f"Then {those} came.\n" for those in turned), *rarer])
        assert (
            answered(tmp_path / str(start), text, f"What of {turned[0]}?")
            == f"Then {turned[0]} came."
        )


# --- outline


@pytest.mark.parametrize(
    "text",
    [
        "person -works_at-> organisation <-owns- organisation",
        "person-works_at->organisation<-owns-organisation",
        "  person  - works_at ->  organisation <- owns -  organisation  ",
    ],
)
def test_a_hierarchy_is_types_and_the_relations_between_them(text: str) -> None:
    assert parse_hierarchy(text) == Hierarchy(
        ("person", "organisation", "organisation"),
        (HierarchyStep("works_at", True), HierarchyStep("owns", False)),
    )


@pytest.mark.parametrize(
    "text",
    ["", "person", "person -works_at->", "person works_at organisation", "-> a", "a -b-> c d"],
)
def test_what_is_no_hierarchy_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot read the hierarchy"):
        parse_hierarchy(text)


# --- the outline

BOOK = """# The book of Vell

## Clocks

### Towers

The clock of the tower was built by Ada Morn.

## Bells

In 2012 the bell was cast again.

## Eels

In 2019 the eels came back to the river.
"""
OTHERS = {"Clocks": "A clock, a clock, a clock.", "Bread": "Bread is baked at four."}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    settings = clew.load_settings(
        store=tmp_path_factory.mktemp("books"),
        split={"chunk_tokens": 16, "section_tokens": 16, "overlap": 0.0},
    )
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        add(engine, {"The book of Vell": BOOK}, media_type="text/markdown")
        add(engine, OTHERS)
        yield engine


def context(engine: clew.Clew, question: str, **options: object) -> str:
    given = {"strategy": "hierarchical", "limit": 1, **options}
    found = engine.search(question, **given)  # type: ignore[arg-type]
    return "\n\n".join(part.text for part in parts_of(found.context.text))


def test_a_passage_comes_with_the_outline_above_and_below_it(books: clew.Clew) -> None:
    text = context(books, "the bell that was cast again", layer="passage")
    outline = text[text.index("Outline of") :].split("\n\n")[0].split("\n")
    assert outline[0] == "Outline of The book of Vell:"
    assert [line for line in outline if line.startswith("→")] == ["→ The book of Vell › Bells"]
    assert "- The book of Vell › Eels" in outline
    assert "In 2012 the bell was cast again." in text


def test_where_the_outline_does_not_fit_the_passage_stands_alone(books: clew.Clew) -> None:
    text = context(books, "the bell that was cast again", layer="passage", max_tokens=25)
    assert "Outline of" not in text
    assert "the bell was cast again" in text


@pytest.mark.parametrize("layer", ["document", "section"])
def test_a_whole_is_as_near_as_the_mean_of_its_passages(books: clew.Clew, layer: str) -> None:
    asked = new_session(books, "clock bell eels river", layer=layer)
    found = by_outline(asked)
    chunks = books.store.chunks(found.ranking.ids.tolist())
    for chunk, score in zip(chunks, found.ranking.scores.tolist(), strict=True):
        inside = [
            other.id
            for other in books.documents.chunks(chunk.source)
            if layer == "document" or other.section_id == chunk.section_id
        ]
        mean = books.state.vectors.vectors(inside).mean(axis=0)
        expected = float(mean @ asked.vector / np.linalg.norm(mean))
        assert score == pytest.approx(expected, abs=1e-5)
    assert (np.diff(found.ranking.scores) <= 0).all()


# --- declared hierarchies

CHAIN = "person -works_for-> organisation -part_of-> organisation"
LEAVES = {
    "1": "Ilse Marn works for Torvald Shipping Company.",
    "2": "Torvald Shipping Company is part of Northgate Group.",
    "3": "Jorid Falk works for Torvald Shipping Company.",
    "4": "Brida Kall works for Kestrel Insurance Company.",
    "5": "Torvald Shipping Company was founded by Ilse Marn.",
}
LEAF_DATES = {"2": "2020-01-01", "1": "2015-01-01", "3": "2021-01-01"}


register = engine_of(LEAVES, LEAF_DATES)


def chain(engine: clew.Clew, question: str, **options: object) -> tuple[RetrievalResult, list[str]]:
    """What is found, and the lines of the chain."""
    asked = new_session(engine, question, hierarchy=CHAIN, **options)
    found = by_hierarchy(asked, parse_hierarchy(CHAIN))
    blocks = found.arrange(asked, ())
    return found, blocks[0].forms[0].text.split("\n") if blocks else asked.notes


def test_the_chain_leads_down_from_the_first_layer(register: clew.Clew) -> None:
    found, lines = chain(register, "Where is Ilse Marn?", layer="person")
    assert lines == [
        "- Ilse Marn — works_for → Torvald Shipping Company",
        "- Torvald Shipping Company — part_of → Northgate Group",
    ]
    chunks = register.store.chunks(found.ranking.ids.tolist())
    assert [chunk.title for chunk in chunks][:2] == ["1", "2"]


def test_and_up_and_down_from_one_within(register: clew.Clew) -> None:
    _, lines = chain(register, "Torvald Shipping Company", layer="organisation")
    assert set(lines) == {
        "- Ilse Marn — works_for → Torvald Shipping Company",
        "- Jorid Falk — works_for → Torvald Shipping Company",
        "- Torvald Shipping Company — part_of → Northgate Group",
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"layer": "page"}, r"unknown layer 'page'.* document, section, passage"),
        (
            {"hierarchy": "person -worksfor-> organisation"},
            r"of the type 'worksfor'; there are .*works_for",
        ),
        (
            {"hierarchy": CHAIN, "layer": "boat"},
            "no layer 'boat'; expected one of person, organisation",
        ),
    ],
)
def test_what_there_is_not_is_refused(
    register: clew.Clew, options: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        context(register, "Where is Ilse Marn?", **options)


def test_where_no_chain_is_found_meaning_decides_and_that_is_said(register: clew.Clew) -> None:
    asked = new_session(register, "Ilse Marn", layer="place")

    assert titles(asked, by_hierarchy(asked, parse_hierarchy("place -capital_of-> place")).ranking)
    assert asked.notes == [
        "no entity of type 'place' near the question has the relations of the hierarchy; passages"
        " were found by meaning alone"
    ]
