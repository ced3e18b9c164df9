"""Random steps on a store's graph, and all that can be seen of it whatever ids and moments are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from hypothesis import strategies as st

from clew.errors import InputError
from clew.stores.store import Store
from clew.testing.conformance import make_entry
from clew.text import entity_key
from clew.types import (
    AliasEvidence,
    AliasMethod,
    ChunkExtraction,
    ExtractedRelation,
    Mention,
    NewEntity,
    NewRelation,
    Relation,
)

Step: TypeAlias = tuple[Callable[..., object], tuple[Any, ...]]
"""What is done to a store, and its arguments after the store."""
Triple: TypeAlias = tuple[str, str, str]
"""(head, type, tail)"""

UNKNOWN = 999_999
"""An id that no store gives out here."""


def take(store: Store, step: Step) -> tuple[object, bool, bool]:
    """Take a step; (what came of it, whether it counts as a change, as a move of entities)."""
    action, arguments = step
    before = store.generation(), store.mentions_version()
    try:
        came_of_it = action(store, *arguments)
    except InputError as error:
        came_of_it = type(error)
    return came_of_it, store.generation() > before[0], store.mentions_version() > before[1]


# --- what there is to see ----------------------------------------------------------------


def seen(store: Store) -> dict[str, object]:
    """All that can be seen of the graph, with places in the order of ids instead of ids."""
    aliases = store.aliases()
    ids = sorted({alias.entity_id for alias in aliases})
    place = {id_: number for number, id_ in enumerate(ids)}
    chunk = {id_: number for number, id_ in enumerate(store.chunk_ids().tolist())}
    relations = store.relations(ids, 10_000)
    then = store.relations(ids, 10_000, as_of=_year(2002))
    assert store.relations(ids, 2) == relations[:2]
    assert store.relations(ids, 2, as_of=_year(2002)) == then[:2]
    return {
        "aliases": [replace(a, id=0, entity_id=place[a.entity_id]) for a in aliases],
        "known names": [(k.name, place[k.entity_id], k.tier) for k in store.known_names()],
        "entities": [replace(e, id=place[e.id]) for e in store.entities(ids)],
        "found": [[e.name for e in store.find_entities(name)] for name in ("ann", "anna", "o")],
        "relations": [_shown(r, place, chunk) for r in relations],
        "relations then": [_shown(r, place, chunk) for r in then],
        "relations written": [_shown(r, place, chunk) for r in store.unstated_relations(ids)],
        "relation counts": store.relation_counts(),
        "mentions": [
            (chunk[row[0]], row[1], place[row[2]], row[3]) for row in store.mention_rows().tolist()
        ],
        "chunks": [[chunk[i] for i in store.entity_chunks(id_).tolist()] for id_ in ids],
        "documents": _placed(store.entity_documents(ids), place),
        "rules": dict(store.link_rules()),
        "made by hand": [place[id_] for id_ in store.made_by_hand()],
        "observations": {place[i]: [o.text for o in t] for i, t in store.observations(ids).items()},
        "unread": ([chunk[i] for i in store.unread(0, 100)], store.count_unread()),
        "unread entities": [place[id_] for id_ in store.unread_entities()],
    }


def _shown(relation: Relation, place: Mapping[int, int], chunk: Mapping[int, int]) -> object:
    """A relation without ids and without the moments at which the store learned things."""
    moment = datetime(1, 1, 1, tzinfo=UTC)

    def learned(told: datetime | None) -> datetime | None:
        """A period without a date begins, and ends another, when the store learned of it."""
        return moment if told and told.year > 2010 else told

    return replace(
        relation,
        id=0,
        from_entity_id=place[relation.from_entity_id],
        to_entity_id=place[relation.to_entity_id],
        valid_from=learned(relation.valid_from),
        valid_until=learned(relation.valid_until),
        recorded_at=moment,
        chunk_id=None if relation.chunk_id is None else chunk[relation.chunk_id],
    )


def _placed(
    documents: Mapping[str, Sequence[int]], place: Mapping[int, int]
) -> list[tuple[str, list[int]]]:
    return [(document, [place[i] for i in ids]) for document, ids in documents.items()]


# --- steps -------------------------------------------------------------------------------


def _entity(store: Store, name: str) -> int:
    return store.resolve([entity_key(name)]).get(entity_key(name), UNKNOWN)


def _year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def _save(
    store: Store,
    source: str,
    triples: Sequence[Triple],
    year: int | None,
    links: Sequence[tuple[str, str, AliasMethod]],
) -> None:
    entry = make_entry(
        source,
        *(f"{head} and {tail}. {tail} again." for head, _, tail in triples),
        names={name: "person" for head, _, tail in triples for name in (head, tail)},
        about=[(triples[0][0], "name")],
        relations=triples,
        valid_from=_year(year),
        links=[
            AliasEvidence(alias=alias, name=name, method=method, score=0.5, evidence="told")
            for alias, name, method in links
        ],
        origin=source,
    )
    store.save(entry)


def _tell(store: Store, name: str) -> bool:
    """What is told of an entity made by hand is a document of its own."""
    made = store.entities(store.made_by_hand(ids=[_entity(store, name)]))
    for entity in made:
        origin = f"memory:{entity.key}"
        store.save(
            make_entry(f"{origin}#1", f"{name} sings.", about=[(name, "name")], origin=origin)
        )
    return bool(made)


def _delete(store: Store, source: str) -> int:
    return store.delete([d.id for d in store.documents() if d.source == source])


def _merge(store: Store, source: str, target: str) -> None:
    store.merge(_entity(store, source), _entity(store, target), "by hand")


def _split(store: Store, names: Sequence[str]) -> None:
    """The names go out of the first one's entity."""
    store.split(_entity(store, names[0]), [entity_key(name) for name in names])


def _apart(store: Store, name: str, other: str) -> None:
    store.keep_apart(_entity(store, name), _entity(store, other))


def _together(store: Store, name: str, other: str) -> list[str]:
    """Kept apart, and that taken back."""
    said = store.keep_apart(_entity(store, name), _entity(store, other))
    store.forget_rules(said)
    return said


def _rename(store: Store, name: str, other: str) -> None:
    store.rename(_entity(store, name), other)


def _retract(store: Store, name: str, number: int) -> int:
    held = store.relations([_entity(store, name)])
    return store.retract([relation.id for relation in held[number : number + 1]])


def _restore(store: Store, name: str, number: int) -> tuple[int, int]:
    """All of an entity that was retracted, by the ids of before."""
    held = [r.id for r in store.relations([_entity(store, name)])]
    taken = store.retract(held[number : number + 1])
    return taken, store.restore_relations(held)


def _make(store: Store, names: Sequence[str], entity_type: str) -> list[bool]:
    entities = [NewEntity(name=n, entity_type=entity_type, content=f"On {n}.") for n in names]
    return [is_new for _, is_new in store.add_entities(entities)]


def _unmake(store: Store, names: Sequence[str]) -> int:
    return store.delete_entities([_entity(store, name) for name in names])


def _relate(
    store: Store, triple: Triple, weight: float, since: int | None, until: int | None
) -> list[bool]:
    """Written with its times, then once more without them."""
    head, kind, tail = triple
    again = NewRelation(
        source_id=_entity(store, head), target_id=_entity(store, tail), relation_type=kind
    )
    first = replace(
        again,
        weight=weight,
        context=None if since is None else {"since": since},
        valid_from=_year(since),
        valid_until=_year(until),
    )
    return [is_new for _, is_new in store.add_relations([first, again])]


def _unrelate(store: Store, name: str, number: int) -> int:
    held = store.unstated_relations([_entity(store, name)])
    return store.delete_relations([relation.id for relation in held[number : number + 1]])


def _read(store: Store, triple: Triple, confidence: float, year: int | None) -> int:
    """An assistant reads the first passage and says the same of it twice."""
    relation = replace(_extracted(triple, confidence), valid_from=_year(year))
    mention = Mention(name=triple[2], sentence=0, start=0, end=4, count=3)
    reading = ChunkExtraction(mentions=(mention,), relations=(relation, relation))
    described = NewEntity(name=triple[0], entity_type="person", content=f"Read of {triple[0]}.")
    chunks = [*store.chunk_ids().tolist(), UNKNOWN]
    return store.record_readings({chunks[0]: reading}, [described])


def _find(store: Store, triples: Sequence[Triple]) -> tuple[int, int]:
    """Two passages are read once more for relations of the first triple's head."""
    chunks = [*store.chunk_ids().tolist()[:2], UNKNOWN]
    found = [(chunk_id, _extracted(triple, 0.25)) for chunk_id in chunks for triple in triples]
    entity_id = _entity(store, triples[0][0])
    facts, added = store.add_found_relations(found, {entity_id}, "patterns")
    store.log_reading({entity_id: len(facts)})
    return len(facts), added


def _extracted(triple: Triple, confidence: float) -> ExtractedRelation:
    head, kind, tail = triple
    return ExtractedRelation(
        head=head, tail=tail, relation_type=kind, sentence=1, confidence=confidence
    )


# --- any steps ---------------------------------------------------------------------------

first_steps: list[Step] = [
    (_save, ("a", [("Anna", "lives_in", "Rome"), ("Ann", "knows", "Anna")], 2001, [])),
    (_save, ("b", [("Ann", "lives_in", "東京")], 2002, [])),
    (_save, ("c", [("Ann", "knows", "Roma")], None, [("Roma", "Rome", "fuzzy")])),
    (_make, (["Ann", "東京"], "person")),
    (_relate, (("Ann", "lives_in", "Roma"), 1.0, 2003, None)),
]
"""Without them, most of any steps would find nothing to change."""

# Few of each, so that steps meet what others have left.
_names = st.sampled_from(("Roma", "Anna", "Rome", "Ann", "東京"))
_triples = st.sampled_from(
    (
        ("Ann", "lives_in", "Roma"),
        ("Anna", "lives_in", "Rome"),
        ("Anna", "lives_in", "東京"),
        ("Ann", "knows", "Anna"),
        ("Roma", "knows", "Roma"),
    )
)
_sources = st.sampled_from(("a", "b", "c"))
_years = st.none() | st.integers(2000, 2004)
_methods: st.SearchStrategy[AliasMethod] = st.sampled_from(("acronym", "fuzzy"))
_numbers = st.integers(0, 2)


def _some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, min_size=1, max_size=2)


def _call(
    action: Callable[..., object], *arguments: st.SearchStrategy[Any]
) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(action), st.tuples(*arguments))


_links = st.lists(st.tuples(_names, _names, _methods), max_size=2)
any_steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        _call(_save, _sources, _some(_triples), _years, _links),
        _call(_delete, _sources),
        _call(_tell, _names),
        _call(_merge, _names, _names),
        _call(_split, _some(_names)),
        _call(_apart, _names, _names),
        _call(_rename, _names, st.one_of(_names, st.just("Anna Morn"))),
        _call(_retract, _names, _numbers),
        _call(_together, _names, _names),
        _call(_restore, _names, _numbers),
        _call(_make, _some(_names), st.sampled_from(("name", "person"))),
        _call(_unmake, _some(_names)),
        _call(_relate, _triples, st.sampled_from((0.25, 1.0)), _years, _years),
        _call(_unrelate, _names, _numbers),
        _call(_read, _triples, st.sampled_from((0.5, 0.75)), _years),
        _call(_find, _some(_triples)),
    ),
    min_size=5,
    max_size=15,
)
