"""Ask: a question, its hits, the thread of each; and why a passage was not the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import RedirectResponse, Response

from clew.errors import InputError, NotFoundError
from clew.graph.knowledge import distinct_facts
from clew.operations.spec import complete
from clew.search.answer.hits import read_relations
from clew.search.pipeline import known_strategies
from clew.text import whole_number
from clew.types import DocumentInfo, Entity, NamedStrategy, SearchResult
from clew.web.changes import changes
from clew.web.graph_view import picture
from clew.web.passages import (
    MOST_LINES,
    answer_segments,
    compare_passages,
    difference,
    name_ids,
    named_segments,
    scales,
)
from clew.web.request import PICTURE, PageRequest, render_page

SUGGESTIONS = 8
"""Names offered while typing."""
EXAMPLES = 6
"""Names that the first page offers to ask about."""
DEEP = 200
"""Hits that a comparison looks through for the passage that was missed."""
FILTERS = ("strategy", "since", "until", "as_of", "limit", "max_tokens")


def beside(run: Callable[[PageRequest, str], Response], page: PageRequest) -> Response:
    """A page with a form: what is wrong with a field stands beside it, and the fields are kept."""
    try:
        return run(page, "")
    except InputError as error:
        return run(page, str(error))


def ask(page: PageRequest, problem: str) -> Response:
    """The question of the address and its answer, or the page to ask on."""
    question = page.text("q")
    filters = {name: page.text(name) for name in FILTERS}
    where = page.texts("where")
    common = {
        "question": question,
        "filters": filters,
        "where": where,
        "strategies": ["auto", *known_strategies()],
        "any_filter": any(filters.values()) or bool(where),
        "problem": problem,
        "status_code": 400 if problem else 200,
    }
    if problem or not question:
        there = 0 if problem else len(page.engine.store.document_digests())
        # What texts name: no title of a file that nothing else tells of.
        known = most_important(page, 4 * EXAMPLES) if there else []
        return render_page(
            page,
            "ask.html",
            result=None,
            documents=there,
            examples=[entity for entity in known if entity.mentions][:EXAMPLES],
            **common,
        )
    limit = page.number("limit", 10, 100)
    result = _search(page, question, limit=limit)
    hits = result.hits
    paths = [[step.entity for step in hit.path] for hit in hits]
    names = (name for group in (*(hit.entities for hit in hits), *paths) for name in group)
    ids = name_ids(page.engine, names)
    drawn = {
        "question": question,
        "alone": sorted({ids[name] for path in paths for name in path if name in ids}),
        "as_of": page.text("as_of"),
    }
    return render_page(
        page,
        "ask.html",
        result=result,
        hits=hits,
        ids=ids,
        scales=scales(hits),
        segments=answer_segments,
        graph_data=page.url("/api/v1/graph", **drawn),
        graph_page=page.url("graph", **drawn),
        # Of the tool `ask`, which chooses its own strategy.
        asking={
            "query": question,
            "top_k": min(limit, 30),
            "where": where,
            **{name: filters[name] for name in ("since", "until", "as_of") if filters[name]},
        },
        **common,
    )


def suggest(page: PageRequest) -> Response:
    """Names of the graph that the last word of the question may be the beginning of."""
    typed = page.text("q") or page.text("entities")
    names: list[str] = []
    words = typed.split()
    for length in range(min(3, len(words)), 0, -1):
        begun = " ".join(words[-length:])
        if len(begun) > 2 and not names:
            names = [entity.name for entity in page.engine.entities.find(begun, SUGGESTIONS)]
            typed = " ".join(words[:-length])
    whole = names if page.text("whole") else [f"{typed} {name}".strip() for name in names]
    return render_page(page, "suggestions.html", suggestions=whole)


def compare(page: PageRequest) -> Response:
    """Why a passage was not the first: what the ranker saw of it, beside the first hit."""
    question, wanted = page.text("q"), page.text("passage")
    result = _search(page, question, limit=DEEP)
    # A passage or a document, by id, source or title.
    names = [
        (c.public_id, c.document_id, c.source, c.title) for c in (h.chunk for h in result.hits)
    ]
    place = next((n for n, known in enumerate(names) if wanted in known), None)
    other, document = None if place is None else result.hits[place], None
    if other is None:
        try:
            document = page.engine.documents.get(wanted.rpartition("#")[0] or wanted)
        except NotFoundError as error:
            return render_page(page, "error_part.html", message=str(error))
    compared = None
    if result.hits:
        chunks = page.engine.documents.chunks(document.id) if document else []
        ids = [other.chunk.id] if other else [chunk.id for chunk in chunks]
        compared = compare_passages(page.engine, question, result.hits[0].chunk.id, ids)
    return render_page(
        page,
        "compare.html",
        first=result.hits[0] if result.hits else None,
        other=other,
        place=None if place is None else place + 1,
        document=document,
        looked=len(result.hits),
        compared=compared,
    )


def _search(page: PageRequest, question: str, limit: int) -> SearchResult:
    """The answer as the address asks for it."""
    tokens = page.text("max_tokens")
    return page.engine.search(
        question,
        strategy=NamedStrategy(page.text("strategy")) or None,
        limit=limit,
        where=page.texts("where"),
        since=page.text("since") or None,
        until=page.text("until") or None,
        as_of=page.text("as_of") or None,
        max_tokens=page.number("max_tokens", 4000, 100_000) if tokens else None,
    )


# Documents: the list, and one with the names marked that the graph knows in it.


LISTED = 100
"""Documents of one page of the list."""
CHUNKS = 40
"""Passages of a document that are shown at a time."""
RELATIONS = 200
"""Relations of the passages shown, at most."""


def documents(page: PageRequest, problem: str) -> Response:
    """The list, by source, or what of it meets the filters."""
    where = page.texts("where")
    wanted = page.text("name").casefold()
    found = [
        info
        for info in ([] if problem else page.engine.documents.list(where))
        if wanted in info.title.casefold() or wanted in info.source.casefold()
    ]
    number = 1 if problem else page.number("page", 1, 1_000_000)
    return render_page(
        page,
        "documents.html",
        status_code=400 if problem else 200,
        problem=problem,
        documents=found[(number - 1) * LISTED : number * LISTED],
        total=len(found),
        number=number,
        pages=-(-len(found) // LISTED),
        where=where,
        notes=[] if problem else page.engine.documents.unknown_fields(where),
        wanted=page.text("name"),
    )


def versions(page: PageRequest) -> Response:
    """What changed from one text of a document to another."""
    documents = page.engine.documents
    info = documents.get(page.params["document"])
    older = page.number("from", max(info.version - 1, 1), info.version)
    newer = page.number("to", info.version, info.version)
    texts = [documents.earlier_text(info.id, version) for version in (older, newer)]
    lines = list(difference(*texts))
    return render_page(
        page,
        "versions.html",
        info=info,
        versions=[v for v in documents.versions(info.id) if v.is_kept],
        pair=(older, newer),
        lines=lines,
        changed=any(piece.kind in ("gone", "new") for line in lines for piece in line),
        cut=max(text.count("\n") for text in texts) >= MOST_LINES,
        most=MOST_LINES,
    )


def document(page: PageRequest) -> Response:
    """A document's passages with names and relations, and the texts that it has had."""
    engine = page.engine
    info = engine.documents.get(page.params["document"])
    chunks = engine.documents.chunks(info.id)
    number = page.number("page", 1, 1_000_000)
    shown = chunks[(number - 1) * CHUNKS : number * CHUNKS]
    known = page.may("graph_enhanced_search")
    stated = engine.store.chunk_relations([chunk.id for chunk in shown]) if known else []
    relations = stated[:RELATIONS]
    ends = sorted({e for r in relations for e in (r.from_entity_id, r.to_entity_id)})
    return render_page(
        page,
        "document.html",
        info=info,
        chunks=shown,
        segments=named_segments(engine, shown),
        relations=relations,
        names=engine.store.entity_names(ends),
        versions=engine.documents.versions(info.id),
        number=number,
        pages=-(-len(chunks) // CHUNKS),
        of_page=CHUNKS,
    )


# Entities: the most important ones, and one with all that is known of it.


NEARBY = 60
"""Entities of the picture, at most."""
RELATIONS_ENTITIES, PASSAGES, MOMENTS = 100, 20, 60
"""Relations, passages and entries of the timeline that are shown, at most."""


def entities(page: PageRequest) -> Response:
    """What the name stands for, or the list."""
    wanted = page.text("name")
    found = page.engine.entities.find(wanted, LISTED) if wanted else most_important(page, LISTED)
    return render_page(page, "entities.html", entities=found, wanted=wanted)


def named(page: PageRequest) -> Response:
    """To the entity of a name."""
    entity = page.engine.entities.get(page.text("name"))
    return RedirectResponse(page.url(f"entities/{entity.id}"), 303)


def entity(page: PageRequest) -> Response:
    """Names and why they are, relations with their sentences, passages, time."""
    engine = page.engine
    found = engine.entities.get(str(page.id("entity")))
    told = changes(page, found.id)
    chunks = (
        engine.store.entity_chunks(found.id)[:PASSAGES] if page.may("query_documents") else None
    )
    ranked = engine.graph.importance([found.name], limit=1)
    return render_page(
        page,
        "entity.html",
        entity=found,
        ranked=ranked[0] if ranked else None,
        aliases=engine.entities.aliases(found),
        relations=shown_relations(page, found),
        done=[change for change in told if str(change.id) == page.text("change")],
        changes=[change for change in told if str(change.id) != page.text("change")],
        passages=None if chunks is None else engine.store.chunks(chunks.tolist()),
        timeline=engine.graph.timeline(found, limit=MOMENTS) if page.may("entity_timeline") else [],
        graph_data=page.url("/api/v1/graph", entities=found.id, limit=NEARBY),
        graph_page=page.url("graph", entities=found.id),
    )


def shown_relations(page: PageRequest, entity: Entity) -> list[dict[str, Any]]:
    """An entity's relations, each with its sentence and the entity at its other end.

    Those that hold come first, then the others, the heaviest of each first.

    Each fact once for each of its periods, with how many statements say it.
    """
    store, now = page.engine.store, page.engine.state.now()
    facts = distinct_facts(store.relations([entity.id], RELATIONS_ENTITIES), now)
    relations = [one for one, _ in facts]
    ends = {e for r in relations for e in (r.from_entity_id, r.to_entity_id)}
    names = store.entity_names(sorted(ends))
    shown: list[dict[str, Any]] = []
    read = read_relations(store, relations)
    for (relation, said), evidence in zip(facts, read, strict=True):
        outward = relation.from_entity_id == entity.id
        other = relation.to_entity_id if outward else relation.from_entity_id
        told = {"relation": relation, "evidence": evidence, "standing": relation.standing(now)}
        told["statements"] = said
        shown.append({**told, "outward": outward, "other": names.get(other, "?"), "id": other})
    return shown


def most_important(page: PageRequest, limit: int) -> list[Entity]:
    """The most important entities; none where the caller may not ask for these."""
    if not page.may("search_entities"):
        return []
    return [ranked.entity for ranked in page.engine.graph.importance(limit=limit)]


# The store at a glance: its communities, its time, its figures, what was changed.


LISTED_OVERVIEW = 60
"""Communities, moments and changes shown."""
PERIODS = 31
"""Days or months of the store's growth."""


def communities(page: PageRequest) -> Response:
    """The communities of a level, the largest first."""
    engine = page.engine
    members = engine.state.communities.members()
    levels = int(members[:, 1].max()) + 1 if len(members) else 0
    level = min(page.number("level", 1, 50), max(levels, 1)) - 1
    found = engine.graph.communities(level, LISTED_OVERVIEW) if levels else []
    return render_page(
        page,
        "communities.html",
        communities=sorted(found, key=lambda community: -community.size),
        level=level,
        levels=levels,
        topics=engine.graph.topics(30) if levels else [],
    )


def community(page: PageRequest) -> Response:
    """A community's report, its entities, and where its sentences come from."""
    engine, wanted = page.engine, page.id("community")
    found = engine.state.communities.communities(ids=[wanted])
    if not found:
        raise NotFoundError(f"no community {wanted}; they change when documents do: look again")
    origins = engine.store.provenance(found[0].sources)
    sources = [origins[id_] for id_ in found[0].sources if id_ in origins]
    return render_page(page, "community.html", community=found[0], sources=sources)


def timeline(page: PageRequest) -> Response:
    """What is known of an entity or a question in order of time; else the documents by year."""
    engine, name, question = page.engine, page.text("name"), page.text("q")
    if question:
        page.need("query_documents")
    listed = engine.documents.list() if page.may("list_documents") else []
    entries, note = [], ""
    if name:
        entity, note = engine.entities.match(name)
        entries = engine.graph.timeline(entity, limit=200)
    hits = engine.search(question, strategy="temporal", limit=30).hits if question else ()
    dated = [hit for hit in hits if hit.times and hit.times[0].start]
    years = Counter(info.created_at.year for info in listed if info.created_at)
    return render_page(
        page,
        "timeline.html",
        name=name,
        question=question,
        entries=entries,
        note=note,
        hits=sorted(dated, key=lambda hit: str(hit.times[0].start)),
        years=sorted(years.items()),
        most=max(years.values(), default=1),
    )


def statistics(page: PageRequest) -> Response:
    """Counts, the graph's hubs and weak places, what models cost, what was changed."""
    engine = page.engine
    return render_page(
        page,
        "statistics.html",
        counts={
            name: value
            for name, value in engine.maintenance.stats().items()
            if isinstance(value, int | str)
        },
        relations=engine.store.relation_counts()[:20],
        growth=growth(engine.documents.list()),
        overview=engine.graph.statistics(8 if page.may("search_entities") else 0),
        model=engine.maintenance.language_model() if page.may("audit") else {},
        undoable={change.id for change in changes(page)},
        changes=page.engine.maintenance.audit(limit=LISTED_OVERVIEW) if page.may("audit") else [],
    )


def growth(documents: Sequence[DocumentInfo]) -> list[dict[str, Any]]:
    """When what is held was indexed: by day, or by month where there are more than `PERIODS` days.

    The last `PERIODS` of them; what came before counts in the totals.
    """
    for length in (len("2026-01-31"), len("2026-01")):
        added: dict[str, tuple[int, int]] = {}
        for info in documents:
            name = info.indexed_at.isoformat()[:length]
            number, passages = added.get(name, (0, 0))
            added[name] = number + 1, passages + info.chunks
        if len(added) <= PERIODS:
            break
    total, rows = 0, []
    for name, (number, passages) in sorted(added.items()):
        total += passages
        rows.append({"name": name, "documents": number, "passages": passages, "total": total})
    return rows[-PERIODS:]


# The graph: a picture that begins from a question, an entity or a community, and its table.


LISTED_GRAPH = 200
"""Entities and ties of the tables beside the picture."""
COMMUNITIES = 12
"""Communities of the picture to keep or leave out, at most."""
LEVELS = 30
"""Communities offered to begin from."""


def graph(page: PageRequest, problem: str) -> Response:
    """The picture of the address with its tables, or where to begin."""
    asked = page.arguments(page.query, PICTURE)
    for name in ("entities", "alone"):  # a name is as good as an id
        if name in asked and not problem:
            asked[name] = [page.engine.entities.get(value).id for value in asked[name]]
    given = {parameter.name: asked.get(parameter.name) for parameter in PICTURE}
    if problem or not any(
        asked.get(name) for name in ("question", "entities", "alone", "community")
    ):
        engine, there = page.engine, not problem and bool(page.engine.store.document_digests())
        return render_page(
            page,
            "graph.html",
            status_code=400 if problem else 200,
            problem=problem,
            seen=None,
            asked=asked,
            given=given,
            documents=there,
            examples=most_important(page, 12) if there else [],
            communities=engine.graph.communities(0, LEVELS)
            if there and page.may("list_communities")
            else [],
        )
    seen = picture(page.engine, **complete("graph", PICTURE, asked))
    state = page.engine.state
    return render_page(
        page,
        "graph.html",
        problem=problem,
        seen=seen,
        asked=asked,
        given=given,
        names={node["id"]: node["name"] for node in seen["nodes"]},
        listed=LISTED_GRAPH,
        **_paths(page),
        ends=(whole_number(page.text("from")), whole_number(page.text("to"))),
        community=_titles(page, [asked["community"]] if "community" in asked else [])[:1],
        communities=_titles(page, seen["communities"][:COMMUNITIES]),
        found=state.kept_communities.generation(),
        current=state.store.generation(),
        file=lambda kind: page.url(f"/api/v1/graph.{kind}", **asked),
        data=page.url("/api/v1/graph", **asked),
        # What the picture shows, for those who cannot see it.
        summary="{} entities and {} ties between them; the tables list them".format(
            len(seen["nodes"]), len(seen["edges"])
        ),
    )


def _titles(page: PageRequest, communities: Sequence[object]) -> list[tuple[int, str]]:
    """Ids and titles of the communities that there are, in order."""
    if not page.may("list_communities"):
        return []
    ids = [number for one in communities if (number := whole_number(str(one))) is not None]
    return [(c.id, c.title) for c in page.engine.state.kept_communities.communities(ids=ids)]


def _paths(page: PageRequest) -> dict[str, Any]:
    """The paths between the two entities that were picked, with their notes."""
    ends = page.text("from"), page.text("to")
    picked: dict[str, Any] = {"paths": [], "path_notes": [], "path_ids": {}, "start": ""}
    if not all(ends) or ends[0] == ends[1]:
        return picked
    page.need("find_paths")
    try:
        paths, notes = page.engine.graph.paths(*ends, max_hops=5, limit=3)
    except NotFoundError as error:
        return picked | {"path_notes": [str(error)]}
    if not paths:
        return picked | {"path_notes": [*notes, "no path of at most 5 steps ties the two"]}
    names = (name for path in paths for tie in path for name in (tie.head, tie.tail))
    return {
        "paths": paths,
        "path_notes": notes,
        "path_ids": name_ids(page.engine, names),
        "start": page.engine.entities.get(ends[0]).name,
    }
