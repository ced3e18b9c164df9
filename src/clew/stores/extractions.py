"""What is found in stored passages after indexing: by reading again, by assistants, by a model.

What a language model made of a passage is remembered, so that it can be taken back.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from clew.errors import NotFoundError
from clew.ports import Enriched, FoundRelation
from clew.stores.aliases import End, NamePlan, names_by_key, resolve_names
from clew.stores.backend import Backend, Row, distinct, limited, now, writing
from clew.stores.entities import delete_orphans
from clew.stores.relations import (
    ASSISTANT,
    MODEL,
    FactKey,
    RelationRow,
    belief,
    derive_again,
    facts_of,
    text_row,
    update_relations,
)
from clew.stores.state import (
    COUNT_CHANGE,
    NEXT_IDS,
    STATE,
    NextIds,
    State,
    StoreState,
    chunks_naming,
    count_move,
)
from clew.stores.statements import relations as statements
from clew.stores.statements.names import KEYS
from clew.stores.statements.relations import STATED_BY_CHUNKS
from clew.text import entity_key, terms
from clew.types import AliasEvidence, ChunkExtraction, NewEntity, Vectors


class Extractions(StoreState):
    """What was extracted from stored passages later: read once more, or found by an assistant."""

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
    ) -> tuple[set[FactKey], int]:
        """Add what passages state of some entities and what the store does not hold yet.

        The facts found of them, and the number of relations added. Unknown names and passages that
        are gone are left out. What was retracted stays so: reading it again is no reason to believe
        it.
        """
        living, stated, keys, next_ids, state = self.backend.gather(
            statements.LIVING_CHUNKS,
            STATED_BY_CHUNKS,
            KEYS,
            NEXT_IDS,
            STATE,
            ids=sorted({int(chunk_id) for chunk_id, _ in found}),
            keys=sorted({entity_key(name) for _, r in found for name in (r.head, r.tail)}),
        )
        ends = {key: End(alias_id, entity_id) for key, alias_id, entity_id in keys}
        there, first_id, moment = {row[0] for row in living}, NextIds(*next_ids[0]).relations, now()
        known = {(row.chunk_id, row.fact) for row in (RelationRow(*r) for r in stated)}
        facts, rows = set[FactKey](), list[RelationRow]()
        for chunk_id, relation in found:
            head, tail = (ends.get(entity_key(name)) for name in (relation.head, relation.tail))
            if chunk_id not in there or not head or not tail or head.entity_id == tail.entity_id:
                continue
            if among.isdisjoint((head.entity_id, tail.entity_id)):
                continue
            fact = (head.entity_id, relation.relation_type, tail.entity_id)
            facts.add(fact)
            if (chunk_id, fact) not in known:
                known.add((chunk_id, fact))
                row = text_row(
                    (chunk_id, relation),
                    ends,
                    relation_id=first_id + len(rows),
                    recorded=(moment, None),
                    extractor=extractor,
                )
                rows.append(row)
        if rows:
            self.backend.insert({"relations": [row._asdict() for row in rows]}, changes=1)
            heads = {head for head, _, _ in facts}
            derive_again(self.backend, State(state).functional, heads=heads, facts=facts)
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

        All or nothing, and the same again adds nothing. Names become entities as in `save`. A
        relation that its chunk states already takes over confidence and sentence; its extractor is
        `assistant` then. One that was retracted stays so. Entities without a description get the
        one in `described`.

        Raises `NotFoundError` for a chunk that is gone.
        """
        written = write_readings(self.backend, readings, described, links, ASSISTANT)
        self.backend.execute(statements.MARK_AS_READ, ids=[int(i) for i in readings], moment=now())
        finish_readings(self.backend, written)
        return len(written.new)


MentionRow: TypeAlias = dict[str, int]
"""chunk_id, sentence, alias_id, entity_id, start, end and count"""


class Written(NamedTuple):
    """What was written of readings."""

    new: list[RelationRow]
    changed: list[RelationRow]
    held: Mapping[int, RelationRow]
    """What the passages stated before, by id."""
    mentions: Sequence[MentionRow]
    """New ones."""
    names: NamePlan
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
    given = [(entity.name, entity.entity_type) for entity in described]
    for reading in readings.values():
        given += [(m.name, m.entity_type) for m in reading.mentions]
        given += [(name, "name") for r in reading.relations for name in (r.head, r.tail)]
    names = resolve_names(backend, names_by_key(given), links)
    mentions = _mentions(readings, names.ends)
    tied = backend.execute_many(statements.ADD_MENTIONS, mentions)
    stated, next_ids, state = backend.gather(STATED_BY_CHUNKS, NEXT_IDS, STATE, ids=ids)
    held = {row.id: row for row in sorted(RelationRow(*row) for row in stated)}
    first_id = NextIds(*next_ids[0]).relations
    rows = _agreed_rows(readings, names.ends, held, first_id, extractor)
    new = [row for row in rows.values() if row.id not in held]
    changed = [row for row in rows.values() if row != held.get(row.id, row)]
    backend.insert({"relations": [row._asdict() for row in new]})
    update_relations(backend, changed)
    said = [
        {"id": names.ends[entity_key(one.name)].entity_id, "content": one.content}
        for one in described
        if one.content
    ]
    backend.execute_many(statements.DESCRIBE_ENTITIES, said)
    before = {tuple(row) for row in known}
    return Written(
        new=new,
        changed=changed,
        held=held,
        mentions=[
            m for m in mentions if (m["chunk_id"], m["sentence"], m["alias_id"]) not in before
        ],
        names=names,
        functional=State(state).functional,
        tied={m["chunk_id"] for m in mentions} if tied else set(),
    )


def _mentions(readings: Mapping[int, ChunkExtraction], ends: Mapping[str, End]) -> list[MentionRow]:
    """Mentions, one of a name in a sentence: the first range, the highest count."""
    found: dict[tuple[int, int, int], MentionRow] = {}
    for chunk_id, reading in readings.items():
        for m in reading.mentions:
            end = ends[entity_key(m.name)]
            row = {"chunk_id": chunk_id, "sentence": m.sentence, **end._asdict()}
            row |= {"start": m.start, "end": m.end, "count": m.count}
            first = found.setdefault((chunk_id, m.sentence, end.alias_id), row)
            first["count"] = max(first["count"], m.count)
    return list(found.values())


def _agreed_rows(
    readings: Mapping[int, ChunkExtraction],
    ends: Mapping[str, End],
    held: Mapping[int, RelationRow],
    first_id: int,
    extractor: str,
) -> dict[int, RelationRow]:
    """What the chunks state with what a reader found; `held` is what they state, be it retracted.

    A passage states a relation once, whoever found it. One that was retracted stays so. Of one that
    a model agrees with, both speak for it; an assistant's word goes before what was found.
    """
    rows, moment = dict(held), now()
    by_fact: dict[tuple[int | None, FactKey], int] = {}
    for row in sorted(held.values(), key=lambda row: (row.retracted_at is not None, row.id)):
        by_fact.setdefault((row.chunk_id, row.fact), row.id)
    for chunk_id, reading in readings.items():
        for relation in reading.relations:
            row = text_row(
                (chunk_id, relation),
                ends,
                relation_id=first_id + len(rows) - len(held),
                recorded=(moment, None),
                extractor=extractor,
                weight=relation.confidence,
            )
            same = rows.get(by_fact.setdefault((chunk_id, row.fact), row.id), row)
            if same.retracted_at is None:
                if extractor == MODEL != same.extractor:  # as sure as both are together (noisy-or)
                    doubt = (1.0 - belief(same.extractor, same.confidence)) * (1.0 - row.confidence)
                    row = row._replace(confidence=round(1.0 - doubt, 6))
                rows[same.id] = same.taken_over(row)
    return rows


def finish_readings(backend: Backend, written: Written) -> None:
    """Derive again what follows from what was written, and count the change."""
    moved = written.names.moved
    # A name that was known when it was checked may have gone with its last text since.
    delete_orphans(backend, moved.union(end.entity_id for end in written.names.ends.values()))
    recompute_around(backend, (*written.new, *written.changed), moved, written.functional)
    if written.tied or moved:  # mentions of old chunks
        aliases = written.names.moved_aliases
        count_move(backend, written.tied | chunks_naming(backend, aliases=aliases))
    else:
        backend.execute(COUNT_CHANGE, changes=1, moves=0)


def recompute_around(
    backend: Backend, rows: Sequence[RelationRow], moved: Set[int], functional: Sequence[str]
) -> None:
    """Derive ends and weights again: of relations that changed, and where names moved."""
    heads = {row.from_entity_id for row in rows}
    derive_again(backend, functional, heads=heads, facts=facts_of(rows), moved=moved)


# What a language model made of passages: added, remembered, taken back.


_BEFORE = (
    "confidence weight is_causal valid_from valid_until stated_until sentence extractor"
).split()
"""What a model's word changes of a relation that was stated before."""


class _Held(NamedTuple):
    """A passage as the store holds it."""

    id: int
    context: str
    text: str
    language: str
    vector: bytes | list[float]


class Enrichments:
    """Passages that a language model has read; each is done, or failed for a reason."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def done(self, kind: Enriched) -> dict[int, str]:
        """By the id of each chunk that was tried: why it failed, empty where it did not."""
        rows = self.backend.rows(statements.ENRICHED)
        entries = ((chunk_id, json.loads(made).get(kind)) for chunk_id, made in rows)
        return {chunk_id: entry["reason"] for chunk_id, entry in entries if entry is not None}

    @writing
    def fail(self, kind: Enriched, reasons: Mapping[int, str]) -> None:
        """Remember why chunks failed; what was made of them before stays."""
        log = self._read(reasons)
        for chunk_id, reason in reasons.items():
            made = log.setdefault(chunk_id, {})
            made[kind] = {**made.get(kind, {}), "reason": reason}
        self._write(log)

    @writing
    def record_extraction(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what a model found to chunks, and mark them as done; the new relations.

        As `Store.record_readings`, but beside what was found before: a relation that its chunk
        states already is as sure as both are together. Raises `NotFoundError` for a chunk that is
        gone.
        """
        written = write_readings(self.backend, readings, described, links, MODEL)
        log = self._read(readings)
        for chunk_id in readings:
            before = log.setdefault(chunk_id, {}).get("extract", {})
            # What was added to the chunk, that of an earlier reading among it.
            mentions = [
                [m["sentence"], m["alias_id"]]
                for m in written.mentions
                if m["chunk_id"] == chunk_id
            ]
            others = {
                str(row.id): {name: getattr(written.held[row.id], name) for name in _BEFORE}
                for row in written.changed
                if row.chunk_id == chunk_id and written.held[row.id].extractor != MODEL
            }
            new = [row.id for row in written.new if row.chunk_id == chunk_id]
            log[chunk_id]["extract"] = {
                "reason": "",
                "mentions": [*before.get("mentions", []), *mentions],
                "relations": [*before.get("relations", []), *new],
                "changed": {**others, **before.get("changed", {})},
            }
        self._write(log)
        finish_readings(self.backend, written)
        return len(written.new)

    @writing
    def undo_extraction(self, chunk_ids: Sequence[int]) -> None:
        """Take back what a model found in chunks, as if they had never been read.

        What others found or stated since stays.
        """
        log = self._read(chunk_ids)
        made = {i: entries.pop("extract") for i, entries in log.items() if "extract" in entries}
        if not made:
            return
        backend = self.backend
        stated, state = backend.gather(STATED_BY_CHUNKS, STATE, ids=list(made))
        # What somebody else has stated again since is theirs.
        rows = [row for row in (RelationRow(*r) for r in stated) if row.extractor == MODEL]
        new = {id_ for one in made.values() for id_ in one.get("relations", ())}
        before = {int(i): v for one in made.values() for i, v in one.get("changed", {}).items()}
        backend.delete("relations", [row.id for row in rows if row.id in new])
        update_relations(backend, [r._replace(**before[r.id]) for r in rows if r.id in before])
        mentions: list[Row] = [
            {"chunk_id": chunk_id, "sentence": sentence, "alias_id": alias_id}
            for chunk_id, one in made.items()
            for sentence, alias_id in one.get("mentions", ())
        ]
        aliases = [row["alias_id"] for row in mentions]
        touched = {row[0] for row in backend.rows(statements.ENTITIES_OF_ALIASES, ids=aliases)}
        touched |= {end for row in rows for end in (row.from_entity_id, row.to_entity_id)}
        backend.execute_many(statements.DELETE_MENTIONS, mentions)
        self._write(log)
        delete_orphans(backend, touched)
        recompute_around(backend, rows, set(), State(state).functional)
        count_move(backend, {row["chunk_id"] for row in mentions})

    @writing
    def record_contexts(self, contexts: Mapping[int, str], vectors: Vectors) -> None:
        """Give chunks other contexts, with the embeddings of context and text, in their order.

        The chunks have other ids then, since what is derived from them goes by ids. Those that are
        gone are left out.
        """
        new = dict(zip(contexts, vectors.astype("<f4"), strict=True))
        held, log = self._held(contexts), self._read(contexts)
        for one in held:
            made, vector = log.setdefault(one.id, {}), one.vector
            if not isinstance(vector, bytes):
                vector = np.array(vector, dtype="<f4").tobytes()
            before = {"before": one.context, "vector": b64encode(vector).decode()}
            former = made.get("context", {})
            kept = {name: former[name] for name in before if name in former}
            made["context"] = {**before, **kept, "reason": ""}
        self._write({one.id: log[one.id] for one in held})
        self._replace(held, {i: (context, new[i].tobytes()) for i, context in contexts.items()})

    @writing
    def undo_contexts(self, chunk_ids: Sequence[int]) -> None:
        """Give chunks the context and the embedding back that they had before."""
        log = self._read(chunk_ids)
        made = {i: entries.pop("context") for i, entries in log.items() if "context" in entries}
        self._write({chunk_id: log[chunk_id] for chunk_id in made})
        before = {
            i: (m["before"], b64decode(m["vector"])) for i, m in made.items() if "before" in m
        }
        self._replace(self._held(before), before)

    def _held(self, chunk_ids: Mapping[int, object]) -> list[_Held]:
        rows = self.backend.rows(statements.PASSAGES, ids=list(chunk_ids))
        return [_Held(*row) for row in rows]

    def _replace(self, held: Sequence[_Held], new: Mapping[int, tuple[str, bytes]]) -> None:
        """Give passages contexts and vectors, by chunk id, and ids that come next."""
        if not held:
            return
        (next_ids,) = self.backend.rows(NEXT_IDS)
        rows = []
        for new_id, one in enumerate(held, start=NextIds(*next_ids).chunks):
            context, vector = new[one.id]
            words = terms(f"{context}\n{one.text}" if context else one.text, one.language)
            row = {"id": one.id, "new_id": new_id, "context": context, "terms": " ".join(words)}
            rows.append({**row, "vector": vector})
        self.backend.replace_passages(rows)
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)

    def _read(self, chunk_ids: Mapping[int, object] | Sequence[int]) -> dict[int, dict[str, Any]]:
        """Entries of the log by kind, by chunk id."""
        rows = self.backend.rows(statements.ENRICHED_AMONG, ids=list(chunk_ids))
        return {chunk_id: json.loads(made) for chunk_id, made in rows}

    def _write(self, entries: Mapping[int, Mapping[str, Any]]) -> None:
        gone = [chunk_id for chunk_id, made in entries.items() if not made]
        kept = [{"id": i, "enriched": json.dumps(made)} for i, made in entries.items() if made]
        if gone:
            self.backend.execute(statements.FORGET_ENRICHED, ids=gone)
        self.backend.execute_many(statements.SET_ENRICHED, kept)
