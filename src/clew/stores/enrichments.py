"""What a language model made of passages, over any back end: added, remembered, taken back."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clew.stores.aliases import count_move
from clew.stores.backend import Row
from clew.stores.entities import delete_orphans
from clew.stores.extractions import Written, finish_readings, recompute_around, write_readings
from clew.stores.relation_plans import MODEL
from clew.stores.relations import RelationRow, update_relations
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, STATE, NextIds, State
from clew.stores.statements import relations as statements
from clew.stores.statements.relations import STATED_BY_CHUNKS
from clew.text import terms

if TYPE_CHECKING:
    from clew.ports.graph import Enriched
    from clew.stores.backend import Backend
    from clew.types import AliasEvidence, ChunkExtraction, NewEntity, Vector, Vectors


_BEFORE = (
    "confidence weight is_causal valid_from valid_until stated_until sentence extractor"
).split()
"""What a model's word changes of a relation that was stated before."""


class Enrichments:
    """`ports.enrichment.EnrichmentLog`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def done(self, kind: Enriched) -> dict[int, str]:
        """By the id of each chunk that was tried: why it failed, empty where it did not."""
        rows = self._backend.rows(statements.ENRICHED)
        entries = ((chunk_id, json.loads(made).get(kind)) for chunk_id, made in rows)
        return {chunk_id: entry["reason"] for chunk_id, entry in entries if entry is not None}

    def fail(self, kind: Enriched, reasons: Mapping[int, str]) -> None:
        """Remember why chunks failed; what was made of them before stays."""

        def work() -> None:
            held = _read(self._backend, list(reasons))
            for chunk_id, reason in reasons.items():
                made = held.setdefault(chunk_id, {})
                made[kind] = {**made.get(kind, {}), "reason": reason}
            _write(self._backend, held)

        self._backend.write(work)

    def record_extraction(
        self,
        readings: Mapping[int, ChunkExtraction],
        described: Sequence[NewEntity] = (),
        links: Sequence[AliasEvidence] = (),
    ) -> int:
        """Add what a model found to chunks, and mark them as done; the new relations.

        As `ExtractionLog.record_readings`, but beside what was found before: a relation that its
        chunk states already is as sure as both are together. Raises `NotFoundError` for a chunk
        that is gone.
        """

        def work() -> int:
            written = write_readings(self._backend, readings, described, links, MODEL)
            held = _read(self._backend, list(readings))
            for chunk_id in readings:
                made = held.setdefault(chunk_id, {})
                made["extract"] = _made(chunk_id, written, made.get("extract", {}))
            _write(self._backend, held)
            finish_readings(self._backend, written)
            return len(written.plan.new)

        return self._backend.write(work)

    def record_contexts(self, contexts: Mapping[int, str], vectors: Vectors) -> None:
        """Give chunks other contexts, with the embeddings of context and text, in their order.

        The chunks have other ids then, since what is derived from them goes by ids. Those that are
        gone are left out.
        """
        rows = dict(zip(contexts, vectors, strict=True))
        self._backend.write(lambda: _situate(self._backend, contexts, rows))

    def undo_contexts(self, chunk_ids: Sequence[int]) -> None:
        """Give chunks the context and the embedding back that they had before."""
        self._backend.write(lambda: _take_contexts_back(self._backend, list(chunk_ids)))

    def undo_extraction(self, chunk_ids: Sequence[int]) -> None:
        """Take back what a model found in chunks, as if they had never been read.

        What others found or stated since stays.
        """
        self._backend.write(lambda: _undo(self._backend, list(chunk_ids)))


def _made(chunk_id: int, written: Written, before: Mapping[str, Any]) -> dict[str, Any]:
    """What was added to a chunk, that of an earlier reading among it."""
    mentions = [
        [m["sentence"], m["alias_id"]] for m in written.mentions if m["chunk_id"] == chunk_id
    ]
    new = [row.id for row in written.plan.new if row.chunk_id == chunk_id]
    changed = [written.held[row.id] for row in written.plan.changed if row.chunk_id == chunk_id]
    others = {
        str(row.id): {name: getattr(row, name) for name in _BEFORE}
        for row in changed
        if row.extractor != MODEL
    }
    return {
        "reason": "",
        "mentions": [*before.get("mentions", []), *mentions],
        "relations": [*before.get("relations", []), *new],
        "changed": {**others, **before.get("changed", {})},
    }


def _undo(backend: Backend, chunk_ids: list[int]) -> None:
    held = _read(backend, chunk_ids)
    made = {i: entries.pop("extract") for i, entries in held.items() if "extract" in entries}
    if not made:
        return
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
    _write(backend, held)
    delete_orphans(backend, touched)
    recompute_around(backend, rows, set(), State(state).functional)
    count_move(backend, {row["chunk_id"] for row in mentions})


# --- contexts ----------------------------------------------------------------------------


class _Held(NamedTuple):
    """A passage as the store holds it."""

    id: int
    context: str
    text: str
    language: str
    vector: bytes | list[float]

    @property
    def vector_bytes(self) -> bytes:
        """Little-endian float32."""
        if isinstance(self.vector, bytes):
            return self.vector
        return np.array(self.vector, dtype="<f4").tobytes()


def _situate(backend: Backend, contexts: Mapping[int, str], vectors: Mapping[int, Vector]) -> None:
    held = [_Held(*row) for row in backend.rows(statements.PASSAGES, ids=list(contexts))]
    logged = _read(backend, list(contexts))
    for one in held:
        made = logged.setdefault(one.id, {})
        former = made.get("context", {})
        before = {"before": one.context, "vector": b64encode(one.vector_bytes).decode()}
        kept = {name: former[name] for name in before if name in former}
        made["context"] = {**before, **kept, "reason": ""}
    _write(backend, {one.id: logged[one.id] for one in held})
    changed = {one.id: (contexts[one.id], vectors[one.id].astype("<f4").tobytes()) for one in held}
    _replace(backend, held, changed)


def _take_contexts_back(backend: Backend, chunk_ids: list[int]) -> None:
    logged = _read(backend, chunk_ids)
    made = {i: entries.pop("context") for i, entries in logged.items() if "context" in entries}
    _write(backend, {chunk_id: logged[chunk_id] for chunk_id in made})
    changed = {i: (m["before"], b64decode(m["vector"])) for i, m in made.items() if "before" in m}
    held = [_Held(*row) for row in backend.rows(statements.PASSAGES, ids=list(changed))]
    _replace(backend, held, changed)


def _replace(
    backend: Backend, held: Sequence[_Held], changed: Mapping[int, tuple[str, bytes]]
) -> None:
    if not held:
        return
    (next_ids,) = backend.rows(NEXT_IDS)
    rows = []
    for new_id, one in enumerate(held, start=NextIds(*next_ids).chunks):
        context, vector = changed[one.id]
        words = terms(f"{context}\n{one.text}" if context else one.text, one.language)
        row = {"id": one.id, "new_id": new_id, "context": context, "terms": " ".join(words)}
        rows.append({**row, "vector": vector})
    backend.replace_passages(rows)
    backend.execute(COUNT_CHANGE, changes=1, moves=0)


# --- the log -----------------------------------------------------------------------------


def _read(backend: Backend, chunk_ids: list[int]) -> dict[int, dict[str, Any]]:
    """Entries by kind, by chunk id."""
    rows = backend.rows(statements.ENRICHED_AMONG, ids=chunk_ids)
    return {chunk_id: json.loads(made) for chunk_id, made in rows}


def _write(backend: Backend, entries: Mapping[int, Mapping[str, Any]]) -> None:
    gone = [chunk_id for chunk_id, made in entries.items() if not made]
    kept = [{"id": i, "enriched": json.dumps(made)} for i, made in entries.items() if made]
    if gone:
        backend.execute(statements.FORGET_ENRICHED, ids=gone)
    backend.execute_many(statements.SET_ENRICHED, kept)
