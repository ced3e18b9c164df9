"""Papers as PDF."""

from __future__ import annotations

from dataclasses import replace

from clew.indexing.reading.formats.bibliography.paper import Paper, Reference
from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.pdf.article import CitedWork, article_in, is_article
from clew.indexing.reading.identifiers import arxiv_in, doi_in
from clew.packs.papers.paper import MOST_REFERENCES, PAPER, Places
from clew.times import to_date
from clew.types import Document

PDF = "application/pdf"


def read_paper(raw: RawFile) -> ReadResult | None:
    """A PDF as it is always read, with what a paper tells of itself as metadata."""
    if not raw.data.startswith(b"%PDF-"):
        return None
    from clew.indexing.reading.formats.pdf.pages import read_pdf

    result = read_pdf(raw)
    return replace(result, documents=tuple(map(described, result.documents)))


def described(document: Document) -> Document:
    """The document with title, authors and date of the paper that it is; as it was for no paper."""
    if not is_article(document.text):
        return document
    paper, _ = paper_in(document)
    known = {
        "entity_type": PAPER,
        "author": "; ".join(paper.authors),
        "year": paper.year,
        "doi": next((i for i in paper.identifiers if i.startswith("10.")), ""),
        "arxiv": next((i[6:] for i in paper.identifiers if i.startswith("arXiv:")), ""),
    }
    found = {**document.metadata, **{name: value for name, value in known.items() if value}}
    date = to_date(str(paper.year)) if paper.year else None
    return replace(
        document,
        title=paper.title,
        metadata=found,
        created_at=date.start if date else document.created_at,
        date_precision=date.precision if date else document.date_precision,
        date_source="text" if date else document.date_source,
    )


def paper_in(document: Document) -> tuple[Paper, Places]:
    """The paper, and the ranges of what its text tells; `"ref 0"` is the first reference.

    Its year is that of the front matter, else of the arXiv id; when the file was made tells none.
    """
    article = article_in(document)
    named = str(document.metadata.get("author", ""))
    arxiv = arxiv_in(article.front)
    digits = arxiv[6:8]
    by_number = 2000 + int(digits) if digits.isdecimal() else None
    known = [(_reference(one), one.place) for one in article.references]
    known = [(one, place) for one, place in known if one.name][:MOST_REFERENCES]
    return Paper(
        key="",
        title=article.title,
        authors=article.authors or tuple(filter(None, named.split("; "))),
        year=article.year or by_number,
        abstract=article.abstract,
        identifiers=tuple(filter(None, (doi_in(article.front), arxiv))),
        references=tuple(one for one, _ in known),
    ), {
        "Authors": article.authors_place,
        "Abstract": article.abstract_place,
        **{f"ref {number}": place for number, (_, place) in enumerate(known)},
    }


def _reference(work: CitedWork) -> Reference:
    identifier = doi_in(work.entry) or arxiv_in(work.entry)
    return Reference(title=work.title, year=work.year, identifier=identifier)
