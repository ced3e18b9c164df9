"""Writing and deleting documents: one transaction each, and nothing is left without a source."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from operator import itemgetter
from typing import NamedTuple

from clew.errors import StoreError, StoreMismatchError, check_several
from clew.stores.backend import Backend, Found, Row, Rows, now
from clew.stores.deletions import DELETING, note_deleted
from clew.stores.documents.earlier import earlier_rows
from clew.stores.documents.passages import FIRST, HeldVersion, Version, extractor_of, version_after
from clew.stores.documents.row_builder import (
    NumberedRows,
    PreparedDocument,
    mention_rows,
    number_rows,
)
from clew.stores.names import alias_resolution
from clew.stores.names.alias_plans import NamePlan, ResolvedNames
from clew.stores.names.alias_resolution import keys_asked
from clew.stores.names.entities import delete_orphans
from clew.stores.relations.relations import (
    History,
    RelationRow,
    count_by_entity,
    document_rows,
    heads_of,
    keys_stated,
)
from clew.stores.relations.validity import heads_around, recompute_valid_until
from clew.stores.relations.weights import (
    Evidence,
    FactKey,
    facts_of,
    read_evidence,
    recompute_weights,
    recompute_weights_around,
    weigh,
)
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, STATE, NextIds, State, remember_embedder
from clew.stores.statements import documents as statements
from clew.stores.statements.evidence import EVIDENCE_BY_KEYS
from clew.stores.statements.replies import DELETE_REPLIES_ABOUT
from clew.types import Document, IndexedDocument


class NeedsLockError(StoreError):
    """More than adding is to be done, which nobody may do beside others."""


class _Held(NamedTuple):
    """What a save begins with."""

    version: Version
    names: Sequence[Found]
    """What `alias_resolution.KNOWN` returned."""
    state: State
    next_ids: NextIds
    evidence: Sequence[Evidence]
    """All statements of what the document states, by the names that there were."""


class _Former(NamedTuple):
    """What a document's former self leaves behind."""

    touched: Set[int]
    """Its entities."""
    heads: Set[int]
    """Those of which it stated functional relations."""
    history: History
    facts: Set[FactKey]
    """What it stated."""
    texts: Sequence[Row]
    """Its own, where that is another one and is kept."""


_NOTHING = _Former(frozenset(), frozenset(), {}, frozenset(), ())


def write_document(
    backend: Backend,
    prepared: PreparedDocument,
    embedder: tuple[str, int],
    *,
    keep: int = 0,
    worker: int = 0,
    own: Set[int] | None = None,
) -> None:
    """Write a document in place of its former self; call inside `write`.

    Where its text is another one, the texts of the `keep` versions before stay readable. That of a
    `worker` bears its number until it is settled, where names came with it. `own` are entities that
    nobody else changes; others write meanwhile where they are given.

    Raises `StoreMismatchError` where the store's vectors are not this embedder's (any more), and
    `NeedsLockError` where it takes more than adding to its own entities.
    """
    held = _read_held(backend, prepared)
    _check_vectors(backend, held.state.vectors, embedder, prepared.entry.document.source)
    functional, former = held.state.functional, _NOTHING
    if not held.version.is_first:
        document, number = prepared.entry.document.id, held.version.number
        texts = earlier_rows(backend, document, number, keep) if held.version.is_new else []
        former = _forget_former(backend, document, held.state, texts)
    planned = alias_resolution.plan_resolution(
        backend, prepared.names, prepared.entry.links, held.names, held.next_ids
    )
    if own is not None:
        _require_adding(held, planned.plan, own)
    if worker and planned.plan.aliases:
        named = json.dumps([alias.id for alias in planned.plan.aliases])
        prepared.document.update(worker=worker, named=named)
    relations = _insert(backend, prepared, held, planned, former)
    alias_resolution.write_and_count(backend, planned.plan)
    moved = planned.plan.resolved.moved
    delete_orphans(backend, former.touched | moved)
    heads = former.heads | heads_of(relations, functional)
    heads |= heads_around(backend, moved, functional)
    changed = recompute_valid_until(backend, heads, functional)
    recompute_weights(backend, (former.facts - facts_of(relations)) | changed)
    recompute_weights_around(backend, moved)


def _require_adding(held: _Held, plan: NamePlan, own: Set[int]) -> None:
    known = {entity_id for _, _, _, entity_id, *_ in held.names[0]}
    if not held.version.is_first or plan.moves or plan.types or known - own:
        raise NeedsLockError("what is stored would change, which others may be reading")


def _check_vectors(
    backend: Backend, known: tuple[str, int] | None, embedder: tuple[str, int], source: str
) -> None:
    """The store may have been embedded again since it was opened."""
    if known is None:
        remember_embedder(backend, embedder)
    elif known != embedder:
        raise StoreMismatchError(
            f"the store {backend.place} was embedded again meanwhile: its vectors from {known[0]!r}"
            f" have {known[1]} dimensions by now, those of {source!r} have {embedder[1]} and"
            f" {embedder[0]!r} made them; open it again with its embedder, or embed all documents"
            " again with `clew reindex`"
        )


def _read_held(backend: Backend, prepared: PreparedDocument) -> _Held:
    document = prepared.entry.document
    version, texts, state, next_ids, evidence, *names = backend.gather(
        statements.HELD_VERSION,
        statements.HELD_TEXT,
        STATE,
        NEXT_IDS,
        EVIDENCE_BY_KEYS,
        *alias_resolution.KNOWN,
        id=document.id,
        sha256=document.sha256,
        keys=keys_asked(prepared.names, prepared.entry.links),
        stated=[list(fact) for fact in keys_stated(prepared.entry)],
    )
    text = "".join(text for _, text in sorted(texts, key=itemgetter(0)))
    after = version_after(HeldVersion(*version[0]), document, text) if version else FIRST
    found = [Evidence(*row) for row in evidence]
    return _Held(after, names, State(state), NextIds(*next_ids[0]), found)


def _forget_former(
    backend: Backend, document_id: str, state: State, texts: Sequence[Row]
) -> _Former:
    functional = state.functional
    history, touched, *deleting = backend.gather(
        statements.STATED_HISTORY, statements.TOUCHED_ENTITIES, *DELETING, ids=[document_id]
    )
    note_deleted(backend, state.generation, *deleting)
    backend.delete("documents", [document_id])
    return _Former(
        touched={row[0] for row in touched},
        heads={head for head, _, kind, *_ in history if kind in functional},
        history={
            (start, kind, end): (since, until) for _, start, kind, end, since, until, _ in history
        },
        facts={(head, kind, tail) for head, _, kind, _, _, _, tail in history},
        texts=texts,
    )


def _insert(
    backend: Backend,
    prepared: PreparedDocument,
    held: _Held,
    planned: alias_resolution.PlannedNames,
    former: _Former,
) -> list[RelationRow]:
    """Write all that is new, and count the change; the relations that the document states."""
    entry, resolved, moment = prepared.entry, planned.plan.resolved, now()
    text = number_rows(
        prepared,
        held.version,
        moment,
        first_section=held.next_ids.sections,
        first_chunk=held.next_ids.chunks,
    )
    relations = document_rows(
        entry,
        text.chunk_ids,
        resolved,
        first_id=held.next_ids.relations,
        history=former.history,
        moment=moment,
        extractor=extractor_of(entry.pipeline_fingerprint),
    )
    others = _other_evidence(backend, entry, held, resolved, facts_of(relations))
    relations, weights = weigh(relations, entry.document.id, others)
    rows: Rows = {
        **_text_rows(prepared, text),
        **planned.new,
        "versions": _open_version(backend, entry.document, held.version, moment),
        "earlier": former.texts,
        "mentions": mention_rows(entry, text.chunk_ids, resolved),
        "relations": [row._asdict() for row in relations],
        "extraction_log": [
            {"entity_id": entity_id, "relationships_found": count, "extracted_at": moment}
            for entity_id, count in count_by_entity(relations).items()
        ],
    }
    backend.insert(rows, changes=1, weights=weights)
    return relations


def _other_evidence(
    backend: Backend,
    entry: IndexedDocument,
    held: _Held,
    resolved: ResolvedNames,
    facts: Set[FactKey],
) -> list[Evidence]:
    """What else states a document's facts; asked only where names became other entities' names."""
    known = {key: entity_id for key, _, _, entity_id, *_ in held.names[0]}
    keys = {key for head, _, tail in keys_stated(entry) for key in (head, tail)}
    elsewhere = {
        resolved.entity_ids[key] for key in keys if resolved.entity_ids[key] != known.get(key)
    }
    is_known = all(entity_id >= held.next_ids.entities for entity_id in elsewhere)
    evidence = held.evidence if is_known else read_evidence(backend, facts)
    return [e for e in evidence if e.fact in facts and e.document_id != entry.document.id]


def _text_rows(prepared: PreparedDocument, rows: NumberedRows) -> Rows:
    return {
        "documents": [rows.document],
        "sections": rows.sections,
        "chunks": [
            {**row, "terms": terms, "vector": vector.tobytes()}
            for row, terms, vector in zip(
                rows.chunks, prepared.terms, prepared.vectors, strict=True
            )
        ],
        "times": rows.times,
    }


def _open_version(backend: Backend, document: Document, version: Version, moment: str) -> list[Row]:
    """Close the version before; the row of a new one, none where the version is kept."""
    if not version.is_new:
        return []
    if not version.is_first:
        former = {"id": document.id, "version": version.number - 1}
        backend.execute(statements.CLOSE_VERSION, **former, moment=moment)
    return [
        {
            "document_id": document.id,
            "version": version.number,
            "sha256": document.sha256,
            "derived_from": version.derived_from,
            "indexed_at": moment,
        }
    ]


def delete_documents(backend: Backend, document_ids: Sequence[str]) -> int:
    """Delete documents and all that only they held, inside `write`; the number that existed."""
    check_several(document_ids=document_ids)
    ids = list(dict.fromkeys(document_ids))
    known, touched, state, *deleting = backend.gather(
        statements.KNOWN_DOCUMENTS, statements.TOUCHED_ENTITIES, STATE, *DELETING, ids=ids
    )
    if known:
        note_deleted(backend, State(state).generation, *deleting)
        functional = State(state).functional
        stated = backend.rows(statements.STATED_HISTORY, ids=ids)
        backend.delete("versions", ids)
        backend.delete("earlier", ids)
        backend.delete("documents", ids)
        backend.execute(DELETE_REPLIES_ABOUT, ids=ids)
        delete_orphans(backend, [row[0] for row in touched])
        heads = {head for head, _, kind, *_ in stated if kind in functional}
        changed = recompute_valid_until(backend, heads, functional)
        recompute_weights(backend, changed | {(row[0], row[2], row[6]) for row in stated})
        backend.execute(COUNT_CHANGE, changes=1, moves=0)
    return len(known)
