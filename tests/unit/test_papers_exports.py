"""Records of catalogues and programs as papers, lists of references in the usual styles."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.reading.formats.bibliography import papers_in, read_ris
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.pdf import cited_work
from clew.plugins.papers.reading import described, read_json, read_lines
from clew.settings import ReadSettings
from clew.types import Document

SCHOLAR = {
    "paperId": "abc",
    "externalIds": {"ArXiv": "1810.04805", "DOI": "10.18653/v1/N19-1423"},
    "title": "A Title",
    "venue": "NAACL",
    "year": 2019,
    "citationCount": 5,
    "authors": [{"name": "Ada Morn"}],
    "references": [
        {"paperId": "x", "title": "Earlier", "year": 2017},
        {"paperId": "y", "title": None},
    ],
}
OPENALEX = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.1000/ABC",
    "display_name": "A Title",
    "publication_date": "2019-01-02",
    "authorships": [{"author": {"display_name": "Ada Morn"}}],
    "primary_location": {"source": {"display_name": "NAACL"}},
    "cited_by_count": 5,
    "abstract_inverted_index": {"we": [0, 2], "show": [1]},
    "referenced_works": ["https://openalex.org/W2"],
}
ARXIV = {
    "id": "0704.0001",
    "title": "A\n  Title",
    "journal-ref": "NAACL",
    "categories": "hep-ph cs.CL",
    "abstract": " We show. ",
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2019 19:18:42 GMT"}],
    "authors_parsed": [["Morn", "Ada", ""]],
}
FEED = {
    "id": "http://arxiv.org/abs/1706.03762v5",
    "title": "A Title",
    "summary": "We show.",
    "published": "2019-06-12T17:57:34Z",
    "arxiv_journal_ref": "NAACL",
    "authors": [{"name": "Ada Morn"}],
}
ZOTERO = {
    "itemType": "journalArticle",
    "title": "A Title",
    "creators": [
        {"firstName": "Ada", "lastName": "Morn", "creatorType": "author"},
        {"firstName": "Ed", "lastName": "Itor", "creatorType": "editor"},
    ],
    "date": "2019-05-01",
    "publicationTitle": "NAACL",
    "citationKey": "morn2019",
}
MENDELEY = {
    "title": "A Title",
    "type": "journal",
    "authors": [{"first_name": "Ada", "last_name": "Morn"}],
    "year": 2019,
    "source": "NAACL",
    "identifiers": {"doi": "10.1000/m", "arxiv": "1706.03762"},
}
CSL = {
    "id": "c1",
    "type": "article-journal",
    "title": "A Title",
    "author": [{"family": "Morn", "given": "Ada"}],
    "issued": {"date-parts": [[2019, 11]]},
    "container-title": "NAACL",
    "keyword": "deep learning, graphs",
}
FORMATS: list[dict[str, Any]] = [SCHOLAR, OPENALEX, ARXIV, FEED, ZOTERO, MENDELEY, CSL]


@pytest.mark.parametrize("record", FORMATS)
def test_each_format_gives_the_same_paper(record: dict[str, Any]) -> None:
    (paper,) = papers_in([record]) or [None]

    assert paper is not None
    assert (paper.title, paper.authors, paper.year, paper.venue) == (
        "A Title",
        ("Ada Morn",),
        2019,
        "NAACL",
    )


def test_what_single_formats_tell_beside() -> None:
    scholar, openalex, arxiv, feed, _, mendeley, csl = [p for p in papers_in(FORMATS) or [] if p]

    assert scholar.identifiers == ("10.18653/v1/n19-1423", "arXiv:1810.04805", "abc")
    assert [(one.name, one.year) for one in scholar.references] == [("Earlier", 2017), ("y", None)]
    assert (scholar.citations, openalex.citations) == (5, 5)
    assert openalex.abstract == "we show we"
    assert [one.identifier for one in openalex.references] == ["W2"]
    assert (arxiv.abstract, arxiv.topics) == ("We show.", ("hep-ph", "cs.CL"))
    assert feed.identifiers == ("arXiv:1706.03762",)
    assert mendeley.identifiers == ("10.1000/m", "arXiv:1706.03762")
    assert (csl.date, csl.topics) == ("2019-11", ("deep learning", "graphs"))


def raw(text: str) -> RawFile:
    return RawFile(source="/library/a.json", data=text.encode(), settings=ReadSettings())


def test_wrapped_answers_and_lines_are_read_and_bad_records_named() -> None:
    wrapped = read_json(raw(json.dumps({"total": 1, "data": [{"citedPaper": SCHOLAR}, {"x": 1}]})))
    lines = read_lines(raw(f"{json.dumps(ARXIV)}\n\n{{broken\n{json.dumps(FEED)}\n"))

    assert isinstance(wrapped, ReadResult)
    assert isinstance(lines, ReadResult)
    assert [one.title for one in wrapped.documents] == ["A Title"]
    assert [one.reason.split(":")[0] for one in wrapped.skipped] == ["record 2"]
    assert [one.title for one in lines.documents] == ["A Title", "A Title"]
    assert [one.reason.split(":")[0] for one in lines.skipped] == ["line 3"]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "[1, 2]", '{"title": "T"}', "{broken", '{"items": [3]}']
)
def test_json_of_anything_else_is_left_to_other_readers(text: str) -> None:
    assert read_json(raw(text)) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_KEYS = sorted({key for record in FORMATS for key in record})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FORMATS), st.dictionaries(st.sampled_from(_KEYS), _VALUES))
def test_values_of_any_kind_are_no_error(record: dict[str, Any], odd: dict[str, object]) -> None:
    papers_in([{**record, **odd}])


@pytest.mark.parametrize("count", [-5, True, 10**400])
def test_what_can_be_no_count_of_citations_is_left_out(count: int) -> None:
    (paper,) = papers_in([{**SCHOLAR, "citationCount": count}]) or [None]

    assert paper is not None
    assert paper.citations is None


def test_ris_is_read_and_a_record_without_end_named() -> None:
    text = (
        "TY  - JOUR\nAU  - Morn, Ada\nTI  - A Title\nPY  - 2019\n"
        "JO  - NAACL\nDO  - 10.1000/x\nER  - \n"
        "TY  - JOUR\nTI  - Never ended\n"
        "TY  - JOUR\nTI  - Another\nER  - \n"
    )
    papers, failed = read_ris(text)

    assert [(p.title, p.authors, p.year) for p in papers] == [
        ("A Title", ("Ada Morn",), 2019),
        ("Another", (), None),
    ]
    assert [(one.line, one.reason) for one in failed] == [(8, "the record has no end (ER)")]


@pytest.mark.parametrize("single", [False, True])
def test_the_feed_of_arxiv_turned_into_json_is_read(single: bool) -> None:
    entry = {
        "id": "http://arxiv.org/abs/2305.14314v1",
        "published": "2023-05-23T17:50:33Z",
        "title": "QLoRA: Efficient Finetuning\n  of Quantized LLMs",
        "summary": "QLoRA builds on LoRA.",
        "author": {"name": "Tim Dettmers"} if single else [{"name": "Tim Dettmers"}],
        "arxiv:comment": {"@xmlns:arxiv": "http://arxiv.org/schemas/atom", "#text": "Preprint"},
        "category": {"@term": "cs.LG"} if single else [{"@term": "cs.LG"}],
    }

    found = papers_in({"feed": {"title": "ArXiv Query", "entry": entry if single else [entry]}})

    assert found is not None
    (paper,) = found
    assert paper is not None
    assert (paper.title, paper.authors, paper.date, paper.note) == (
        *("QLoRA: Efficient Finetuning of Quantized LLMs", ("Tim Dettmers",)),
        *("2023-05-23", "Preprint"),
    )
    assert (paper.identifiers, paper.topics) == (("arXiv:2305.14314",), ("cs.LG",))


@pytest.mark.parametrize(
    "entry",
    [
        "Ada Vell, Noam Shaz, and Bo Polo. 2017. Walking is all you need. In Advances, 1–2.",
        "[1] A. Vell, N. Shaz, et al. Walking is all you need. In NIPS, 2017.",
        "Vell, A., Shaz, N. (2017). Walking is all you need. Advances in Neural, 30.",
        "[3] A. Vell et al., “Walking is all you need,” in Proc. NIPS, 2017, pp. 1–2.",
        "12. Vell A, Shaz N. Walking is all you need. Advances. 2017;30:1-2.",
    ],
)
def test_a_reference_is_read_in_the_usual_styles(entry: str) -> None:
    work = cited_work(entry)

    assert (work.title, work.year) == ("Walking is all you need", 2017)


def test_a_pdf_that_states_no_year_has_none() -> None:
    made = datetime(2020, 5, 1, tzinfo=UTC)
    text = (
        "Walking Graphs\n\nAda Morn\n\n{}Abstract\nWe walk.\n\nReferences\n[1] Lund. Paths. 2016."
    )

    def year(imprint: str) -> object:
        paper = Document(source="a.pdf", text=text.format(imprint), created_at=made)
        return described(paper).metadata.get("year")

    assert year("") is None, "when the file was made is not when the paper was published"
    assert year("Proceedings of Vell, 2018\n\n") == 2018
    assert year("arXiv:2001.03762\n\n") == 2020
    assert year("doi:10.1999/w.2001\n\n") is None
