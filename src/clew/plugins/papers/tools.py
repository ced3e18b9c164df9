"""What an assistant may ask of a library of papers: lists, citations, BibTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Annotated, Any, Literal

from clew.engine import Engine
from clew.operations.spec import Call, Result, Where, between, operation, shape
from clew.plugins.papers.reading import PAPER
from clew.text import entity_key
from clew.types import DocumentInfo

SHOWN = ("key", "author", "year", "venue", "citations", "doi", "arxiv", "type")
_PER_PAPER = 3
"""Passages looked at for each paper that is wanted: a paper has several."""
_MOST = 1000
_FIELDS = {
    "article": "journal",
    "inproceedings": "booktitle",
    "incollection": "booktitle",
    "techreport": "institution",
    "phdthesis": "school",
}
"""Where an entry of a kind has its venue; that of any other kind is in `howpublished`."""
_BRACES = str.maketrans("", "", "{}")


def find_papers(
    engine: Engine, query: str | None, where: Sequence[str] = (), limit: int = 20
) -> list[DocumentInfo]:
    """The papers that a question finds, best first; without one all, the most cited first."""
    only = [*where, f"entity_type={PAPER}"]
    if not query:
        papers = engine.documents.list(only)
        return nlargest(limit, papers, key=lambda one: int(one.metadata.get("citations", 0)))
    wanted = min(_PER_PAPER * limit, _MOST)
    hits = engine.search(query, where=only, limit=wanted, context=False).hits
    found = list(dict.fromkeys(hit.chunk.document_id for hit in hits))[:limit]
    infos = {one.id: one for one in engine.store.documents(ids=found)}
    return [infos[id_] for id_ in found if id_ in infos]


def citations(engine: Engine, papers: Iterable[DocumentInfo]) -> list[dict[str, Any]]:
    """What these papers state of each other: who cites, builds on and improves on whom."""
    keys = {entity_key(one.title): one.title for one in papers}
    ids = engine.store.resolve(list(keys))
    titles = {id_: keys[key] for key, id_ in ids.items()}
    found = {
        (titles[one.from_entity_id], one.relation_type, titles[one.to_entity_id]): one.confidence
        for one in engine.store.relations(list(titles), limit=100 * len(titles))
        if one.relation_type in ("cites", "builds_on", "improves")
        and one.from_entity_id in titles
        and one.to_entity_id in titles
    }
    return [
        {"from": head, "relation": relation, "to": tail, "confidence": round(sure, 4)}
        for (head, relation, tail), sure in sorted(found.items())
    ]


def bibtex(papers: Iterable[DocumentInfo]) -> str:
    """The papers as BibTeX, in UTF-8; braces of their titles are left out."""
    from bibtexparser.entrypoint import write_string
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    library = Library()
    for number, one in enumerate(papers, 1):
        known = one.metadata
        kind = str(known.get("type", "")).lower()
        kind = kind if kind.isalpha() else "misc"
        arxiv = {"eprint": known["arxiv"], "archiveprefix": "arXiv"} if "arxiv" in known else {}
        values = {
            "title": one.title,
            "author": str(known.get("author", "")).replace("; ", " and "),
            "year": known.get("year", ""),
            _FIELDS.get(kind, "howpublished"): known.get("venue", ""),
            **{name: known.get(name, "") for name in ("volume", "number", "pages", "doi", "url")},
            **arxiv,
        }
        fields = [Field(n, str(v).translate(_BRACES)) for n, v in values.items() if v != ""]
        key = "".join(c for c in str(known.get("key", "")) if c.isalnum() or c in "-_.:/")
        library.add(Entry(kind, key or f"paper{number}", fields), fail_on_duplicate_key=False)
    return write_string(library)


def listed(paper: DocumentInfo) -> dict[str, Any]:
    """A paper as a row of a list."""
    known = {name: paper.metadata[name] for name in SHOWN if name in paper.metadata}
    return {"id": paper.id, "title": paper.title, **known, "source": paper.source}


@operation("Papers", shape(papers="array", citations="array", bibtex="string"))
def papers_list(
    call: Call,
    query: Annotated[str | None, "What is looked for; without it, the most cited papers."] = None,
    where: Where = (),
    limit: Annotated[int, "Papers, at most", between(1, 300)] = 20,
    format: Annotated[
        Literal["list", "graph", "bibtex"], "Beside the list: graph or bibtex."
    ] = "list",
) -> Result:
    """The papers that a question finds, or all: as a list, with what they cite of each other, or as
    BibTeX.
    """
    papers = find_papers(call.engine, query, where, limit)
    return {
        "papers": [listed(one) for one in papers],
        "citations": citations(call.engine, papers) if format == "graph" else [],
        "bibtex": bibtex(papers) if format == "bibtex" else "",
    }


TOOLS = (papers_list,)
