from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.indexing.splitting.split import split
from clew.search.answer.blocks import format_citations
from clew.settings import SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from clew.types.documents import page_at
from tests.unit.asked import day
from tests.unit.test_split import WordPieces

FORM_FEED = "The clock of Vell was built by Ada Morn.\n\fThe bell of Vell was cast in Lisse."


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
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
        yield engine


def test_a_source_has_its_number_title_place_author_day_version_and_name(
    engine: clew.Clew,
) -> None:
    result = engine.search("clock of Vell", strategy="keyword")
    lines = {line.split("] ", 1)[1] for line in format_citations(result).splitlines()}
    assert lines == {
        "A letter, characters 0–36, Ada Morn, 1820-05-04, letters/7.txt",
        "note.txt, characters 0–31",
        "Book, page 1, book.pdf",
        "Twice, characters 0–25, version 2, again",
    }


def test_numbers_are_those_of_the_context(engine: clew.Clew) -> None:
    for strategy in ("keyword", "local", "multi_hop"):
        result = engine.search("Ada Morn and the clock of Vell", strategy=strategy)
        numbers = re.findall(r"^\[(\d+)\] ", result.context.text, re.MULTILINE)
        listed = re.findall(r"^\[(\d+)\] ", format_citations(result), re.MULTILINE)
        assert set(listed) == set(numbers)
        assert listed == sorted(listed, key=int)


def test_a_source_of_one_part_is_listed_once(engine: clew.Clew) -> None:
    lines = format_citations(engine.search("Vell", strategy="local")).splitlines()
    assert len(lines) == len(set(lines))


def test_nothing_found_has_no_sources(engine: clew.Clew) -> None:
    assert format_citations(engine.search("", strategy="keyword")) == ""


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


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF with a line of text a page."""
    bodies = [f"BT /F1 9 Tf 30 700 Td ({text}) Tj ET" for text in pages]
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(pages)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
    ]
    for at, body in enumerate(bodies):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800]"
            f" /Contents {4 + 2 * at} 0 R /Resources << /Font << /F1 {font} >> >> >>"
        )
        objects.append(f"<< /Length {len(body)} >>\nstream\n{body}\nendstream")
    written, places = "%PDF-1.4\n", []
    for number, held in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{held}\nendobj\n"
    start = len(written)
    written += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    written += "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R >>"
    return f"{written}trailer\n{trailer}\nstartxref\n{start}\n%%EOF\n".encode("latin-1")


def test_a_citation_names_the_page_of_the_sentence(tmp_path: Path) -> None:
    (tmp_path / "orle.pdf").write_bytes(pdf_of(PAGES))
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        engine.index([tmp_path / "orle.pdf"])
        assert len(engine.store.chunk_ids()) == 1, "one passage reaches over all three pages"
        for number, question in enumerate(ASKED, 1):
            result = engine.search(question)
            said = result.to_dict()["results"][0]
            assert said["metadata"]["page"] == number, question
            assert "page_starts" not in said["metadata"]
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
