"""What is extracted after indexing: relations found by reading again, and what agents found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from clew.errors import NotFoundError
from clew.ports import Fact, FoundRelation
from clew.stores.aliases import (
    Named,
    ResolvedNames,
    chunks_naming,
    count_move,
    names_by_key,
    resolve_names,
)
from clew.stores.backend import Backend, distinct, limited, now, writing
from clew.stores.entities import delete_orphans
from clew.stores.relation_plans import (
    ASSISTANT,
    Plan,
    facts_of,
    plan_found,
    plan_readings,
    recompute_weights,
    recompute_weights_around,
)
from clew.stores.relations import (
    End,
    RelationRow,
    heads_around,
    recompute_valid_until,
    update_relations,
)
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, STATE, NextIds, State, StoreState
from clew.stores.statements import relations as statements
from clew.stores.statements.names import KEYS
from clew.stores.statements.relations import STATED_BY_CHUNKS
from clew.text import entity_key
from clew.types import AliasEvidence, ChunkExtraction, NewEntity


class Extractions(StoreState):
    """`ports.ExtractionLog` over a back end."""

    # --- relations found by reading stored passages once more

    def unread_entities(self, limit: int | None = None) -> list[int]:
        """Ids of entities whose passages were never read for relations and had none, by id."""
        rows = self.backend.rows(statements.UNREAD_ENTITIES, limit=limited(limit))
        return [row[0] for row in rows]

    def entity_documents(self, entity_ids: Sequence[int]) -> dict[str, list[int]]:
        """Entities by the id of a document that mentions them, both in order."""
        found: dict[str, list[int]] = {}
        rows = self.backend.rows(statements.ENTITY_DOCUMENTS, ids=distinct(entity_ids))
        for document_id, entity_id in rows:
            found.setdefault(document_id, []).append(entity_id)
        return found

    @writing
    def add_found_relations(
        self, found: Sequence[FoundRelation], among: Set[int], extractor: str
    ) -> tuple[set[Fact], int]:
        """Add what passages state of some entities and what the store does not hold yet.

        The facts found of them, and the number of relations added.

        Unknown names and passages that are gone are left out.
        """
        living, stated, keys, next_ids, state = self.backend.gather(
            statements.LIVING_CHUNKS,
            STATED_BY_CHUNKS,
            KEYS,
            NEXT_IDS,
            STATE,
            ids=sorted({int(chunk_id) for chunk_id, _ in found}),
            keys=_keys(found),
        )
        held = (RelationRow(*row) for row in stated)
        facts, rows = plan_found(
            found,
            among,
            names={key: End(alias_id, entity_id) for key, alias_id, entity_id in keys},
            living={row[0] for row in living},
            stated=[
                (r.chunk_id or 0, r.from_entity_id, r.relation_type, r.to_entity_id) for r in held
            ],
            first_id=NextIds(*next_ids[0]).relations,
            moment=now(),
            extractor=extractor,
        )
        if rows:
            self.backend.insert({"relations": [row._asdict() for row in rows]}, changes=1)
            heads = {head for head, _, _ in facts}
            changed = recompute_valid_until(self.backend, heads, State(state).functional)
            recompute_weights(self.backend, changed | facts)
        return facts, len(rows)

    @writing
    def log_reading(self, found: Mapping[int, int]) -> None:
        """Remember how many relations the passages of entities held when they were read."""
        moment = now()
        rows = [
            {"entity_id": int(id_), "relationships_found": int(count), "extracted_at": moment}
            for id_, count in found.items()
        ]
        self.backend.execute_many(statements.LOG_EXTRACTION, rows)

    # --- what agents found in passages

    def unread(self, after: int, limit: int) -> list[int]:
        """Ids above `after` of chunks that no assistant has read, sorted; at most `limit`."""
        rows = self.backend.rows(statements.UNREAD_CHUNKS, after=after, limit=limited(limit))
        return [row[0] for row in rows]

    def count_unread(self) -> int:
        """Chunks that no assistant has read."""
        return int(self.backend.rows(statements.COUNT_UNREAD_CHUNKS)[0][0])

    @writing
    def record_readings(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what was found to chunks, by chunk id, and mark them as read; the new relations.

        All or nothing, and the same again adds nothing. Names become entities as in
        `DocumentStore.save`. A relation that its chunk states already takes over confidence and
        sentence; its extractor is `assistant` then. One that was retracted stays so. Entities
        without a description get the one in `described`.

        Raises `NotFoundError` for a chunk that is gone.
        """
        written = write_readings(self.backend, readings, described, links, ASSISTANT)
        ids = [int(i) for i in readings]
        self.backend.execute(statements.MARK_AS_READ, ids=ids, moment=now())
        finish_readings(self.backend, written)
        return len(written.plan.new)


class Written(NamedTuple):
    """What was written of readings."""

    plan: Plan
    held: Mapping[int, RelationRow]
    """What the passages stated before, by id."""
    mentions: Sequence[MentionRow]
    """New ones."""
    resolved: ResolvedNames
    functional: Sequence[str]
    tied: Set[int]
    """Chunks of which mentions are new, or there are more of one."""


def write_readings(
    backend: Backend,
    readings: Mapping[int, ChunkExtraction],
    described: Sequence[NewEntity],
    links: Sequence[AliasEvidence],
    extractor: str,
) -> Written:
    """Add what a reader found to chunks; call inside `write`, and `finish_readings` at its end.

    Raises `NotFoundError` for a chunk that is gone.
    """
    ids = [int(i) for i in readings]
    living, known = backend.gather(statements.LIVING_CHUNKS, statements.MENTION_KEYS, ids=ids)
    if len(living) < len(ids):
        raise NotFoundError(
            f"{len(ids) - len(living)} of the passages were changed or deleted meanwhile; read"
            " them again (extraction_next)"
        )
    resolved = resolve_names(backend, names_found(readings, described), links)
    mentions = mentions_found(readings, resolved)
    tied = backend.execute_many(statements.ADD_MENTIONS, mentions)
    rows, next_ids, state = backend.gather(STATED_BY_CHUNKS, NEXT_IDS, STATE, ids=ids)
    held = sorted(RelationRow(*row) for row in rows)
    plan = plan_readings(
        relations_found(readings),
        ends_found(resolved),
        held,
        NextIds(*next_ids[0]).relations,
        now(),
        extractor,
    )
    backend.insert({"relations": [row._asdict() for row in plan.new]})
    update_relations(backend, plan.changed)
    described_now = descriptions_found(described, resolved)
    backend.execute_many(
        statements.DESCRIBE_ENTITIES,
        [{"id": id_, "content": content} for id_, content in described_now],
    )
    before = {tuple(row) for row in known}
    return Written(
        plan=plan,
        held={row.id: row for row in held},
        mentions=[m for m in mentions if _key_of(m) not in before],
        resolved=resolved,
        functional=State(state).functional,
        tied={m["chunk_id"] for m in mentions} if tied else set(),
    )


def finish_readings(backend: Backend, written: Written) -> None:
    """Derive again what follows from what was written, and count the change."""
    moved = written.resolved.moved
    # A name that was known when it was checked may have gone with its last text since.
    delete_orphans(backend, moved.union(written.resolved.entity_ids.values()))
    changed = (*written.plan.new, *written.plan.changed)
    recompute_around(backend, changed, moved, written.functional)
    if written.tied or moved:  # mentions of old chunks
        aliases = written.resolved.moved_aliases
        count_move(backend, written.tied | chunks_naming(backend, aliases=aliases))
    else:
        backend.execute(COUNT_CHANGE, changes=1, moves=0)


def recompute_around(
    backend: Backend, rows: Sequence[RelationRow], moved: Set[int], functional: Sequence[str]
) -> None:
    """Derive ends and weights again: of relations that changed, and where names moved."""
    heads = {row.from_entity_id for row in rows} | heads_around(backend, moved, functional)
    changed = recompute_valid_until(backend, heads, functional)
    recompute_weights(backend, changed | facts_of(rows))
    recompute_weights_around(backend, moved)


def _key_of(mention: MentionRow) -> tuple[int, int, int]:
    return mention["chunk_id"], mention["sentence"], mention["alias_id"]


def _keys(found: Iterable[FoundRelation]) -> list[str]:
    return sorted({entity_key(name) for _, r in found for name in (r.head, r.tail)})


MentionRow: TypeAlias = dict[str, int]
"""chunk_id, sentence, alias_id, entity_id, start, end and count"""


def names_found(
    readings: Mapping[int, ChunkExtraction], described: Sequence[NewEntity]
) -> dict[str, Named]:
    """Every name that is needed, by key, with its first telling type."""
    given = [(entity.name, entity.entity_type) for entity in described]
    for reading in readings.values():
        given += [(m.name, m.entity_type) for m in reading.mentions]
        given += [(name, "name") for r in reading.relations for name in (r.head, r.tail)]
    return names_by_key(given)


def mentions_found(
    readings: Mapping[int, ChunkExtraction], resolved: ResolvedNames
) -> list[MentionRow]:
    """Mentions, one of a name in a sentence: the first range, the highest count."""
    found: dict[tuple[int, int, int], MentionRow] = {}
    for chunk_id, reading in readings.items():
        for m in reading.mentions:
            key = entity_key(m.name)
            alias_id = resolved.alias_ids[key]
            row = {
                "chunk_id": chunk_id,
                "sentence": m.sentence,
                "alias_id": alias_id,
                "entity_id": resolved.entity_ids[key],
                "start": m.start,
                "end": m.end,
                "count": m.count,
            }
            first = found.setdefault((chunk_id, m.sentence, alias_id), row)
            first["count"] = max(first["count"], m.count)
    return list(found.values())


def relations_found(readings: Mapping[int, ChunkExtraction]) -> Iterator[FoundRelation]:
    """Relations with the chunks that state them."""
    for chunk_id, reading in readings.items():
        for relation in reading.relations:
            yield chunk_id, relation


def ends_found(resolved: ResolvedNames) -> dict[str, End]:
    """What names became, by key."""
    return {key: End(resolved.alias_ids[key], i) for key, i in resolved.entity_ids.items()}


def descriptions_found(
    described: Sequence[NewEntity], resolved: ResolvedNames
) -> list[tuple[int, str]]:
    """(entity id, description), for entities that have none."""
    return [(resolved.entity_ids[entity_key(e.name)], e.content) for e in described if e.content]
