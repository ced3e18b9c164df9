"""Records of papers as JSON: CSL, arXiv, Semantic Scholar, OpenAlex, Zotero and Mendeley."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.indexing.reading.formats.bibliography.names import plain
from clew.indexing.reading.formats.bibliography.paper import Paper, Reference, is_count
from clew.indexing.reading.identifiers import arxiv_in, doi_in, year_in
from clew.text import one_line

Record = Mapping[str, Any]

_LISTS = (*"results data items entries papers references citations".split(), "feed.entry")
"""Under which a saved answer has its records."""
_WRAPPED = ("data", "citedPaper", "citingPaper")
"""Under which a record is, where something is said of it beside."""
_OPENALEX = "https://openalex.org/"


def _text(value: object) -> str:
    return one_line(str(value)) if isinstance(value, (str, int, float)) else ""


def _at(record: object, path: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value at a path of names, "primary_location.source"; of a list its first value's."""
    for name in path.split("."):
        record = record[0] if isinstance(record, list) and record else record
        record = record.get(name) if isinstance(record, dict) else None
    return record


def _first(record: object, *paths: str) -> str:
    return next((found for path in paths if (found := _text(_at(record, path)))), "")


def _maps(value: object) -> list[Record]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _names(values: object, *paths: str) -> tuple[str, ...]:
    """The names in a list of texts, or of objects that have theirs at one of these paths."""
    if isinstance(values, str):
        # Categories have blanks between them: "hep-ph cs.CL".
        are_codes = all("." in word or "-" in word for word in values.split())
        return tuple(filter(None, map(one_line, values.split(None if are_codes else ","))))
    listed = values if isinstance(values, list) else [values] if isinstance(values, dict) else []
    found = (_first(one, *paths) if isinstance(one, dict) else _text(one) for one in listed)
    return tuple(dict.fromkeys(filter(None, found)))


def _joined(one: Record, *names: str) -> str:
    return one_line(" ".join(_text(one.get(name)) for name in names))


# --- what differs from format to format ----------------------------------------------------


def _csl_people(record: Record) -> Iterator[str]:
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
    for one in _maps(record.get("author") or record.get("editor")):
        yield _first(one, "literal") or _joined(one, *parts)


def _csl_date(record: Record) -> str:
    issued = record.get("issued")
    parts = _at(issued, "date-parts")
    if isinstance(parts, list) and parts and isinstance(parts[0], list):
        numbers = [int(str(n)) for n in parts[0] if str(n).isdecimal() and len(str(n)) < 5]
        return "-".join(f"{n:02}" for n in numbers)
    return _first(issued, "raw", "literal") or _text(issued)


def _crossref_references(record: Record) -> Iterator[Reference]:
    for one in _maps(record.get("reference")):
        yield Reference(
            title=plain(_first(one, "article-title", "title", "volume-title")),
            year=year_in(_first(one, "year")),
            identifier=doi_in(_first(one, "DOI")),
        )


def _arxiv_people(record: Record) -> Iterator[str]:
    parsed = record.get("authors_parsed")
    for parts in parsed if isinstance(parsed, list) else ():
        if isinstance(parts, list) and len(parts) > 1:
            yield plain(" ".join(map(str, [parts[1], parts[0], *parts[2:3]])))
    if not parsed:
        yield from map(plain, _names(record.get("authors") or record.get("author"), "name"))


def _scholar_references(record: Record) -> Iterator[Reference]:
    for one in map(_unwrapped, _maps(record.get("references"))):
        title, year = _first(one, "title"), _first(one, "year")
        yield Reference(
            title=title, year=year_in(year), identifier="" if title else _first(one, "paperId")
        )


def _openalex_abstract(record: Record) -> str:
    """The text of an index from words to their places."""
    index = record.get("abstract_inverted_index")
    listed = index.items() if isinstance(index, dict) else ()
    places = [
        (place, word)
        for word, found in listed
        for place in (found if isinstance(found, list) else ())
        if isinstance(place, int)
    ]
    return one_line(" ".join(word for _, word in sorted(places)))


def _openalex_references(record: Record) -> Iterator[Reference]:
    for one in _names(record.get("referenced_works")):
        yield Reference(identifier=one.removeprefix(_OPENALEX))


def _zotero_people(record: Record) -> Iterator[str]:
    for one in _maps(record.get("creators")):
        if one.get("creatorType", "author") == "author":
            yield _first(one, "name") or _joined(one, "firstName", "lastName")


def _mendeley_people(record: Record) -> Iterator[str]:
    for one in _maps(record.get("authors")):
        yield _joined(one, "first_name", "last_name")


def _of_paths(*paths: str) -> Callable[[Record], str]:
    return lambda record: _first(record, *paths)


_ABSTRACT = _of_paths("abstract")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Format:
    """Where a kind of record has what; paths of names, the first that holds something counts."""

    known_by: Sequence[tuple[str, ...]]
    """Names that all are in a record of this kind, and in no other's."""
    people: Callable[[Record], Iterator[str]]
    date: Callable[[Record], str]
    venue: tuple[str, ...]
    key: tuple[str, ...] = ("id",)
    kind: tuple[str, ...] = ("type",)
    title: tuple[str, ...] = ("title",)
    abstract: Callable[[Record], str] = _ABSTRACT
    topics: tuple[str, ...] = ("keywords", "tags")
    topic: tuple[str, ...] = ("display_name", "tag", "term", "@term", "category", "name")
    doi: tuple[str, ...] = ("DOI", "doi")
    arxiv: tuple[str, ...] = ("URL",)
    catalogue: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    note: tuple[str, ...] = ("note",)
    references: Callable[[Record], Iterator[Reference]] = lambda _: iter(())


_FORMATS = (
    _Format(  # Semantic Scholar
        known_by=[("paperId", "title")],
        people=lambda record: iter(_names(record.get("authors"), "name")),
        date=_of_paths("publicationDate", "year"),
        venue=("venue", "journal.name"),
        key=("paperId",),
        kind=("publicationTypes",),
        abstract=_of_paths("abstract", "tldr.text"),
        topics=("fieldsOfStudy", "s2FieldsOfStudy"),
        doi=("externalIds.DOI",),
        arxiv=("externalIds.ArXiv",),
        catalogue=("paperId",),
        citations=("citationCount",),
        references=_scholar_references,
    ),
    _Format(  # OpenAlex
        known_by=[("id", "authorships"), ("id", "abstract_inverted_index")],
        people=lambda record: iter(_names(record.get("authorships"), "author.display_name")),
        date=_of_paths("publication_date", "publication_year"),
        venue=("primary_location.source.display_name", "host_venue.display_name"),
        title=("display_name", "title"),
        abstract=_openalex_abstract,
        topics=("topics", "concepts", "keywords"),
        arxiv=("doi", "primary_location.landing_page_url"),
        catalogue=("id",),
        citations=("cited_by_count",),
        references=_openalex_references,
    ),
    _Format(  # Zotero
        known_by=[("itemType", "title")],
        people=_zotero_people,
        date=_of_paths("date"),
        venue=("publicationTitle", "proceedingsTitle", "conferenceName", "publisher"),
        key=("citationKey", "citekey", "key", "itemKey"),
        kind=("itemType",),
        abstract=_of_paths("abstractNote"),
        arxiv=("archiveID", "extra", "url"),
        note=("extra",),
    ),
    _Format(  # arXiv: the data set of all abstracts, and the interface's feed as JSON
        known_by=[
            ("title", "abstract", "authors_parsed"),
            ("title", "abstract", "categories"),
            ("id", "title", "summary", "published"),
            ("entry_id", "title", "summary"),
        ],
        people=_arxiv_people,
        date=_of_paths("published", "versions.created", "update_date", "updated"),
        venue=("journal-ref", "journal_ref", "arxiv_journal_ref", "arxiv:journal_ref.#text"),
        key=("id", "entry_id"),
        abstract=lambda record: plain(_first(record, "abstract", "summary")),
        topics=("categories", "tags", "category"),
        doi=("doi", "arxiv_doi", "arxiv:doi.#text"),
        arxiv=("id", "entry_id"),
        note=("comments", "comment", "arxiv:comment.#text"),
    ),
    _Format(  # Mendeley
        known_by=[("title", "type", "identifiers"), ("title", "type", "source", "authors")],
        people=_mendeley_people,
        date=_of_paths("year"),
        venue=("source", "publisher"),
        key=("citation_key", "id"),
        doi=("identifiers.doi",),
        arxiv=("identifiers.arxiv",),
    ),
    _Format(  # CSL, which Crossref answers with, too
        known_by=[("type", "title", "issued"), ("id", "type", "title", "author")],
        people=_csl_people,
        date=_csl_date,
        venue=("container-title", "event-title", "publisher"),
        key=("id", "citation-key", "DOI"),
        topics=("keyword", "subject"),
        citations=("is-referenced-by-count",),
        references=_crossref_references,
    ),
)


# --- records of a file -----------------------------------------------------------------------


def papers_in(value: object) -> list[Paper | None] | None:
    """A paper for each record, None for one that is none; None where the file holds no papers."""
    papers = [_paper(record) for record in _records(value)]
    return papers if any(papers) else None


def _records(value: object) -> list[object]:
    if isinstance(value, dict) and _format(value) is None:
        found = (_at(value, path) for path in _LISTS)
        value = next((one for one in found if isinstance(one, (list, dict)) and one), value)
    return [_unwrapped(one) for one in (value if isinstance(value, list) else [value])]


def _unwrapped(value: object) -> object:
    inner = (value[n] for n in _WRAPPED if n in value) if isinstance(value, dict) else ()
    return next((one for one in inner if isinstance(one, dict)), value)


def _format(record: object) -> _Format | None:
    if not isinstance(record, dict):
        return None
    fits = (f for f in _FORMATS for names in f.known_by if record.keys() >= set(names))
    return next(fits, None)


def _paper(record: object) -> Paper | None:
    """The paper of a record; None for one of no known kind, or without a title."""
    form = _format(record)
    if form is None:
        return None
    assert isinstance(record, dict)
    title = plain(_first(record, *form.title) or next(iter(_names(record.get("title"))), ""))
    date = form.date(record)
    counts = (_at(record, path) for path in form.citations)
    arxiv = (arxiv_in(_first(record, path), bare=True) for path in form.arxiv)
    venue = _first(record, *form.venue) or next(iter(_names(record.get(form.venue[0]))), "")
    topics = next((found for path in form.topics if (found := record.get(path))), None)
    doi = doi_in(_first(record, *form.doi))
    catalogue = _first(record, *form.catalogue).removeprefix(_OPENALEX)
    paper = Paper(
        key=_first(record, *form.key).removeprefix(_OPENALEX).rpartition("/abs/")[2],
        kind=_first(record, *form.kind) or next(iter(_names(_at(record, form.kind[0]))), ""),
        title=title,
        authors=tuple(filter(None, form.people(record))),
        year=year_in(date),
        date=date[:10] if date[:4].isdecimal() else date,
        venue=plain(venue),
        abstract=form.abstract(record),
        topics=_names(topics, *form.topic),
        identifiers=tuple(filter(None, (doi, next(filter(None, arxiv), ""), catalogue))),
        citations=next((count for count in counts if is_count(count)), None),
        references=tuple(form.references(record)),
        note=_first(record, *form.note),
    )
    return paper if paper.title else None
