"""What is asked of a library of papers: lists, citations, BibTeX, and questions about entries.

A question about entries ("Which venue published …?", "Which papers use …?", "Which is the most
cited?") is answered by what they state. It has to be understood whole: where it has words that
ask for anything else, or names that no entry has, it is searched for as any question is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import compress
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from clew.engine import Engine
from clew.languages import read_patterns
from clew.operations.spec import Call, Result, Where, between, operation, shape
from clew.plugins.papers.reading import PAPER
from clew.search.answer.blocks import Block, Form, RetrievalResult, after, cite_chunks
from clew.search.answer.quoted import MOST_PARTS
from clew.search.periods import lies_within
from clew.search.pipeline import EVERYWHERE, Strategy, find_strategy
from clew.search.question import is_look_up
from clew.search.route import RULES
from clew.search.session import QuerySession, filtered_relations
from clew.text import entity_key, one_line, question_terms
from clew.types import DocumentInfo, Period, Relation, StoredChunk

SHOWN = ("key", "author", "year", "venue", "citations", "doi", "arxiv", "type")
_PER_PAPER = 3
"""Passages looked at for each paper that is wanted: a paper has several."""
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
    """The papers that a question finds, best first; without one all, the most cited first.

    One that several files describe is listed once.
    """
    only = [*where, f"entity_type={PAPER}"]
    if query:
        hits = engine.search(query, where=only, limit=_PER_PAPER * limit, context=False).hits
        ids = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
        infos = {one.id: one for one in engine.store.documents(ids=ids)}
        found = [infos[id_] for id_ in ids if id_ in infos]
    else:
        found = sorted(
            engine.documents.list(only), key=lambda one: -int(one.metadata.get("citations", 0))
        )
    first = {entity_key(one.title) or one.id: one for one in reversed(found)}
    in_order = dict.fromkeys(entity_key(one.title) or one.id for one in found)
    return [first[key] for key in in_order][:limit]


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
    entries = []
    for number, one in enumerate(papers, 1):
        known = one.metadata
        kind = str(known.get("type", "")).lower()
        kind = kind if kind.isalpha() else "misc"
        values = {
            "title": one.title,
            "author": str(known.get("author", "")).replace("; ", " and "),
            "year": known.get("year", ""),
            _FIELDS.get(kind, "howpublished"): known.get("venue", ""),
            **{name: known.get(name, "") for name in ("volume", "number", "pages", "doi", "url")},
            "eprint": known.get("arxiv", ""),
            "archiveprefix": "arXiv" if "arxiv" in known else "",
        }
        fields = (f"\t{n} = {{{str(v).translate(_BRACES)}}}" for n, v in values.items() if v != "")
        key = "".join(c for c in str(known.get("key", "")) if c.isalnum() or c in "-_.:/")
        entries.append(",\n".join((f"@{kind}{{{key or f'paper{number}'}", *fields)) + "\n}\n")
    return "\n\n".join(entries)


def listed(paper: DocumentInfo) -> dict[str, Any]:
    """A paper as a row of a list."""
    return {
        "id": paper.id,
        "title": paper.title,
        **{name: paper.metadata[name] for name in SHOWN if name in paper.metadata},
        "source": paper.source,
    }


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
    """The papers that a question finds, or all: as a list, with what they cite, or as BibTeX."""
    papers = find_papers(call.engine, query, where, limit)
    return {
        "papers": [listed(one) for one in papers],
        "citations": citations(call.engine, papers) if format == "graph" else [],
        "bibtex": bibtex(papers) if format == "bibtex" else "",
    }


TOOLS = (papers_list,)


# Questions that entries answer, as a strategy.


_WORDS = read_patterns(__package__, "questions.toml")
_BETWEEN_PAPERS = frozenset(("cites", "builds_on", "improves"))
_MOST_RELATIONS = 10_000
_SURE = 0.95
"""Confidence in a passage that states what is asked."""
_MARK = 0xE000
"""Stands for the first name of a question; the next for the second one."""


class _Question(NamedTuple):
    """What is asked of a library of papers."""

    papers: Mapping[int, DocumentInfo]
    """In order of time, by the id of the entity that each describes."""
    names: Sequence[int]
    """Entities that the question names, in the order of their marks."""
    relations: Sequence[Relation]
    """Of the names, those that an allowed passage states."""
    text: str
    """The question as a key, with a mark in place of each name."""
    said: Mapping[str, Mapping[str, re.Match[str]]]
    """What it has of each table of words."""

    @classmethod
    def of(cls, session: QuerySession) -> _Question:
        store, seeds = session.resources.store, session.analysis.seeds
        listed = sorted(store.described(PAPER), key=lambda one: str(one.created_at or "undated"))
        ids = store.resolve([entity_key(one.title) for one in listed])
        papers = {ids[key]: one for one in listed if (key := entity_key(one.title)) in ids}
        stated = store.relations(
            [one.entity_id for one in seeds], _MOST_RELATIONS, as_of=session.options.as_of
        )
        known = {one.to_entity_id for one in stated if one.from_entity_id in papers}.union(papers)
        named = [seed for seed in seeds if seed.entity_id in known]
        text = f" {entity_key(session.untimed.rstrip(' ?!.'))} "
        for place, seed in enumerate(named):
            text = re.sub(rf" {re.escape(seed.key)}s? ", f" {chr(_MARK + place)} ", text)
        said = {
            table: {name: found for name, one in words.items() if (found := one.search(text))}
            for table, words in _WORDS.items()
        }
        return cls(
            papers,
            [one.entity_id for one in named],
            filtered_relations(session, stated),
            text,
            said,
        )

    def is_understood(self) -> bool:
        """Whether all its words are names of the library, or ask something of entries."""
        words = [one for table in _WORDS.values() for one in table.values()]
        rest = reduce(lambda left, one: one.sub(" ", left), words, self.text)
        return not question_terms("".join(one for one in rest if ord(one) < _MARK))

    @property
    def field(self) -> str:
        """First word of the line that is asked for or ordered by; empty: papers are asked for."""
        # "Papers that use the data set …" asks for papers.
        asked = {"": self.said["plain"].get("papers"), **self.said["asked"]}
        places = {name: found.start() if found else len(self.text) for name, found in asked.items()}
        return next(iter(self.said["order"]), min(places, key=lambda one: places[one]))

    def chosen(self) -> dict[int, Relation | None]:
        """The papers that each name is tied to as is asked; without a name all."""
        ties = self.said["tied"].keys() - ({"cites"} if self.said["order"] else set())
        found = []
        for place, name in enumerate(self.names):
            is_paper = name in self.papers
            # What is asked of a paper is a field of its own, unless of those that it is tied to.
            tied = self.tied(place, ties & _BETWEEN_PAPERS if self.field and is_paper else ties)
            is_meant = self.field or "introduces" in ties or (is_paper and not ties)
            found.append(tied or (self.meant(place) if is_meant else {}))
        # Of several names, those that the verb does not speak of narrow the choice.
        if not ties or any(found):
            found = [
                one or self.tied(place, _WORDS["tied"].keys() - _BETWEEN_PAPERS)
                for place, one in enumerate(found)
            ]
        fitting = (id_ for id_ in self.papers if all(id_ in one for one in found))
        return {id_: next((one[id_] for one in found if one[id_]), None) for id_ in fitting}

    def tied(self, place: int, types: Collection[str]) -> dict[int, Relation | None]:
        """The papers that relations of these types tie to a name, each with the relation.

        Of two papers the one that is named before the verb does it, unless it is done "by".
        """
        verbs = [found.start() for one, found in self.said["tied"].items() if one in types]
        is_before = self.text.find(chr(_MARK + place)) < min(verbs, default=0)
        does = self.names[place] in self.papers and is_before != ("passive" in self.said["plain"])
        mine = {
            one.to_entity_id if does else one.from_entity_id: one
            for one in self.relations
            if one.relation_type in types
            and self.names[place] == (one.from_entity_id if does else one.to_entity_id)
        }
        return {id_: one for id_, one in mine.items() if id_ in self.papers}

    def meant(self, place: int) -> dict[int, Relation | None]:
        """The paper that goes by a name, else the first one that introduces what it names."""
        own = self.names[place]
        found = {own: None} if own in self.papers else self.tied(place, ("introduces",))
        return {id_: found[id_] for id_ in [one for one in self.papers if one in found][:1]}


def by_entries(session: QuerySession) -> RetrievalResult:
    """What the question's kind is usually searched by, behind the entries that answer it."""
    kind = session.route.kind
    usual = find_strategy(RULES[kind].strategy if kind in RULES else "graph")
    found = replace(usual.find(session), tells=usual.finds not in EVERYWHERE)
    asked = _Question.of(session)
    looks_up = is_look_up(session.question) and not asked.said["order"]
    is_narrowed = asked.names or asked.said["order"] or (session.named_period and not looks_up)
    if not is_narrowed or not (looks_up or asked.is_understood()):
        return found
    told = list(_told(session, asked, asked.meant(0) if looks_up else asked.chosen()))
    ids = np.array(list(dict.fromkeys(chunk.id for _, chunk in told)), dtype=np.int64)
    found = replace(found, ranking=found.ranking.led_by(ids))
    if looks_up:
        return found
    session.confidences.update(dict.fromkeys(ids.tolist(), _SURE))
    forms = [Form(text=line, citations=cite_chunks([chunk])) for line, chunk in told]
    if len(told) > MOST_PARTS or "count" in asked.said["plain"]:
        forms.insert(0, Form(text=f"{len(told)} papers", citations=()))
    blocks = [Block(kind="subgraph", heading="From the entries", forms=(one,)) for one in forms]
    # Where papers or their fields are asked for and no entry states them, nothing else does.
    of_entries = {"papers", *_BETWEEN_PAPERS} & {*asked.said["plain"], *asked.said["tied"]}
    return replace(found, arrange=after(blocks), tells=bool(told or asked.field or of_entries))


def _told(
    session: QuerySession, asked: _Question, chosen: Mapping[int, Relation | None]
) -> Iterator[tuple[str, StoredChunk]]:
    """A line for each paper that answers, with the passage that states it."""
    store, period, papers = session.resources.store, session.named_period, asked.papers
    times = {i: Period(start=papers[i].created_at, end=papers[i].created_at) for i in chosen}
    wanted = [id_ for id_ in chosen if not period or lies_within(times[id_], period)]
    most = None
    for order, found in asked.said["order"].items():
        most = int(found["count"] or (3 if "several" in asked.said["plain"] else 1))
        cited = {id_: int(papers[id_].metadata.get("citations", 0)) for id_ in wanted}
        places = cited if order == "Citations" else {id_: n for n, id_ in enumerate(wanted)}
        wanted.sort(key=lambda i: -places[i] if order == "Citations" or found["newest"] else 0)
    for id_ in wanted[:most]:
        relation = None if asked.field else chosen[id_]
        stating = store.chunks([relation.chunk_id or 0]) if relation else ()
        own = stating or store.document_chunks(papers[id_].id)
        let = session.allows(np.array([one.id for one in own], dtype=np.int64)).tolist()
        said = store.sentences([one.id for one in own])
        lines = [(line, one) for one in compress(own, let) for line in said[one.id]]
        first = relation.sentence if relation and stating else 0
        for line, chunk in [one for one in lines[first:] if one[0].startswith(asked.field)][:1]:
            # What cites a paper holds its title.
            yield (
                (
                    papers[id_].title
                    if papers[id_].title in line
                    else f"{papers[id_].title} — {one_line(line)}"
                ),
                chunk,
            )


STRATEGY = Strategy(by_entries, "exact", ("fusion", "alpha"))
