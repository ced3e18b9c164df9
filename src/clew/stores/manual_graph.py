"""Entities and relations made by hand, and observations about the entities.

An entity made by hand (tier `manual`) needs no text: the names that it was given keep it. A
relation made by hand has no chunk; its extractor is `manual`. An observation is a document of its
own, so that several processes may tell something of one entity at once without reading what is
there: its origin is `memory:` and a key of the entity, which finds it however the entity is merged
or renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clew.errors import InputError
from clew.stores.aliases import Named, resolve_names
from clew.stores.backend import Statement, distinct, limited, now, pairs, to_text, writing
from clew.stores.documents import delete_documents
from clew.stores.entities import (
    EntityMerging,
    HeldAlias,
    HeldEntity,
    PrunedNames,
    delete_orphans,
    part_names,
    read_held,
    split_off,
    unknown_entities,
)
from clew.stores.relations import (
    MANUAL,
    NO_CONTEXT,
    FactKey,
    RelationRow,
    Relations,
    derive_again,
    heads_around,
    meaning_of,
    read_facts,
    update_relations,
)
from clew.stores.state import COUNT_CHANGE, NEXT_IDS, STATE, NextIds, State, count_moved_aliases
from clew.stores.statements import relations as statements
from clew.stores.statements.names import FUZZY_NAMES
from clew.stores.statements.relations import (
    BY_HAND,
    BY_PRUNING,
    PRUNED_IDS,
    RELATION_ENDS,
    RESTORE,
    RETRACT,
    SHOWN_ALIASES,
    STATEMENTS_OF_FACT,
    UNSTATED_IDS,
    UNSTATED_RELATIONS,
)
from clew.text import entity_key
from clew.types import TERM, UNKNOWN_TYPE, NewEntity, NewRelation, Observation, Relation

_LARGEST_ID = 2**63 - 1
"""What a column of either database holds."""


class ManualGraph(EntityMerging, PrunedNames, Relations):
    """Entities and relations written by hand, and observations about the entities.

    An entity made by hand needs no text; what texts say of it is tied to it as to any other.
    """

    # --- entities

    @writing
    def add_entities(self, entities: Sequence[NewEntity]) -> list[tuple[int, bool]]:
        """Make entities, all or none; (id, whether it was not made by hand before), in order.

        A name that is known belongs to its entity, which is shown under it from now on, unless it
        was tied to that by likeness alone. One that was made by hand before is left as it is.

        Raises `InputError` for a name without letters or digits.
        """
        keys = [entity_key(entity.name) for entity in entities]
        if "" in keys:
            raise InputError(
                f"an entity cannot be named {entities[keys.index('')].name!r}; expected a name with"
                " letters or digits"
            )
        freed = self._free_guesses(keys)
        names: dict[str, Named] = {}
        for key, entity in zip(keys, entities, strict=True):
            names.setdefault(key, Named(entity.name, entity.entity_type))
        plan = resolve_names(self.backend, names)
        ids = {key: end.entity_id for key, end in plan.ends.items()}
        # What came free has the tier of the entity that it was tied to, and was made by nobody.
        own = {ids[alias.key] for alias in freed}
        made = set(self.made_by_hand(ids=list(ids.values()))) - own
        results: list[tuple[int, bool]] = []
        new: list[dict[str, Any]] = []
        for key, entity in zip(keys, entities, strict=True):
            entity_id = ids[key]
            results.append((entity_id, entity_id not in made))
            if entity_id not in made:
                made.add(entity_id)
                row = {"id": entity_id, "key": key, "name": entity.name}
                new.append({**row, "entity_type": entity.entity_type, "content": entity.content})
        if new:
            self.backend.execute_many(statements.MAKE_ENTITIES, new)
            self.backend.execute_many(statements.NAME_BY_HAND, new)
        moved = [*(alias.id for alias in freed), *plan.moved_aliases]
        if moved:
            count_moved_aliases(self.backend, moved)
        elif new:
            self.backend.execute(COUNT_CHANGE, changes=1, moves=0)
        return results

    def _free_guesses(self, keys: Sequence[str]) -> list[HeldAlias]:
        """Who makes an entity says that its name is nobody else's: ties by likeness were wrong.

        The aliases that were so. What cannot be parted is refused before anything is written.
        """
        guessed = self.backend.rows(FUZZY_NAMES, keys=list(dict.fromkeys(keys)))
        if not guessed:
            return []
        held = read_held(self.backend, distinct([row[0] for row in guessed]))
        partings: list[tuple[HeldEntity, list[HeldAlias], list[HeldAlias]]] = []
        for entity_id, key in guessed:
            whole = held[entity_id]
            if len(whole.aliases) > 1:
                parted, left = part_names(whole, [key])
                partings.append((whole, parted, left))
                held[entity_id] = whole.without(parted)
        for parting in partings:
            split_off(self.backend, *parting)
        return [alias for _, parted, _ in partings for alias in parted]

    @writing
    def update_entity(
        self, entity_id: int, *, entity_type: str | None = None, content: str | None = None
    ) -> None:
        """Give an entity another type, another description or both.

        Raises `NotFoundError` for an unknown entity.
        """
        if not self.entity_names([entity_id]):
            raise unknown_entities([entity_id])
        said = {"entity_type": entity_type, "content": content}
        values = {name: value for name, value in said.items() if value is not None}
        if values:
            self.backend.update("entities", [{"id": int(entity_id), **values}])
        self.backend.execute(COUNT_CHANGE, changes=1, moves=0)

    @writing
    def delete_entities(self, entity_ids: Sequence[int]) -> int:
        """Take back entities made by hand, with the relations written by hand and observations.

        Those that a text names stay as if they had been found there. The number that were made by
        hand; others are left alone.

        What texts say of them stays.
        """
        made = self.made_by_hand(ids=entity_ids)
        if made:
            told = self.backend.rows(statements.OBSERVATIONS, ids=made)
            delete_documents(self.backend, list(dict.fromkeys(row[1] for row in told)))
            manual = self.backend.rows(UNSTATED_IDS, ids=made)
            unmade = [{"id": id_, "tier": "extracted", "content": ""} for id_ in made]
            self.backend.update("entities", unmade)
            self.delete_relations([row[0] for row in manual])
            delete_orphans(self.backend, made)
            self.backend.execute(COUNT_CHANGE, changes=1, moves=0)
        return len(made)

    def made_by_hand(
        self, *, ids: Sequence[int] | None = None, after: int = 0, limit: int = -1
    ) -> list[int]:
        """Ids (sorted) above `after` of the entities made by hand, among those given or of all."""
        statement = statements.MADE_BY_HAND if ids is None else statements.MADE_BY_HAND_AMONG
        values = {"ids": distinct(ids or ()), "after": after, "limit": limited(limit)}
        return [row[0] for row in self.backend.rows(statement, **values)]

    def observations(self, entity_ids: Sequence[int]) -> dict[int, list[Observation]]:
        """Observations by entity id, oldest first; entities without any are left out.

        An observation is a document whose origin is `memory:` and a key of the entity.
        """
        texts: dict[tuple[int, str], list[str]] = {}
        for entity_id, document_id, text in self.backend.rows(
            statements.OBSERVATIONS, ids=distinct(entity_ids)
        ):
            texts.setdefault((entity_id, document_id), []).append(text or "")
        found: dict[int, list[Observation]] = {}
        for (entity_id, document_id), parts in texts.items():
            told = Observation(document_id=document_id, text="".join(parts))
            found.setdefault(entity_id, []).append(told)
        return found

    # --- relations

    @writing
    def add_relations(self, relations: Sequence[NewRelation]) -> list[tuple[Relation, bool]]:
        """Write relations, all or none; each as it is afterwards, and whether it is new.

        Each is one period of a fact. One that speaks of a period that is there (the one that begins
        then; without a beginning, the one that holds when it is told) brings it up to date: it
        takes over weight, context and times. What had ended begins once more, and what ends another
        fact of a functional type begins when it is told, unless a beginning is given.

        Raises `NotFoundError` for an unknown entity.
        """
        if not relations:
            return []
        ends = sorted({int(end) for r in relations for end in (r.source_id, r.target_id)})
        shown, stated, next_ids, state = self.backend.gather(
            SHOWN_ALIASES, UNSTATED_RELATIONS, NEXT_IDS, STATE, ids=ends
        )
        aliases = pairs(shown)
        if missing := [i for i in ends if i not in aliases]:
            raise unknown_entities(missing)
        held = sorted(RelationRow(*row) for row in stated)
        next_id = NextIds(*next_ids[0]).relations
        heads = {int(relation.source_id) for relation in relations}
        functional = State(state).functional
        facts = read_facts(self.backend, functional, heads)
        before = {row.id: row for row in held}
        after, written = _written_rows(relations, aliases, before, next_id, facts)
        new = [row._asdict() for row in after.values() if row.id not in before]
        self.backend.insert({"relations": new}, changes=1)
        # What somebody states something of is a name.
        named = [i for i, one in read_held(self.backend, ends).items() if one.entity_type == TERM]
        self.backend.update("entities", [{"id": i, "entity_type": UNKNOWN_TYPE} for i in named])
        changed = [row for row in after.values() if row != before.get(row.id, row)]
        update_relations(self.backend, changed)
        derive_again(self.backend, functional, heads=heads)
        found = self.relations_by_id([relation_id for relation_id, _ in written])
        return [(relation, new) for relation, (_, new) in zip(found, written, strict=True)]

    @writing
    def delete_relations(self, relation_ids: Sequence[int]) -> int:
        """Delete relations written by hand; their number. Those that a text states stay.

        Entities that only they held go with them.
        """
        rows, state = self.backend.gather(RELATION_ENDS, STATE, ids=distinct(relation_ids))
        manual = [row for row in rows if not row[3]]
        if manual:
            ends = {end for row in manual for end in row[1:3]}
            functional = State(state).functional
            heads = heads_around(self.backend, ends, functional)
            self.backend.delete("relations", [row[0] for row in manual])
            delete_orphans(self.backend, ends)
            derive_again(self.backend, functional, heads=heads)
            self.backend.execute(COUNT_CHANGE, changes=1, moves=0)
        return len(manual)

    @writing
    def retract(self, relation_ids: Sequence[int], *, by_hand: bool = True) -> int:
        """Say that relations were wrong from now on; the number that were not retracted before.

        What they had ended holds on again. Where texts state nothing else of a fact, later texts
        that state it are retracted too, as `delete_fact` says.

        Remembered as long as the document goes on to state them.
        """
        moment = now() if by_hand else f"{now().removesuffix(BY_HAND)}{BY_PRUNING}"
        return self._set_retracted(relation_ids, RETRACT, moment=moment)

    @writing
    def restore_relations(self, relation_ids: Sequence[int]) -> int:
        """Take back that relations were wrong; the number that were retracted. Remembered."""
        return self._set_retracted(relation_ids, RESTORE)

    @writing
    def restore_pruned(self) -> int:
        """Restore what was retracted other than `by_hand`; the number of statements restored."""
        return self._set_retracted([row[0] for row in self.backend.rows(PRUNED_IDS)], RESTORE)

    def _set_retracted(
        self, relation_ids: Sequence[int], statement: Statement, **moment: str
    ) -> int:
        """Retract relations at a moment, or restore them without one; how many that changed."""
        ids = distinct(relation_ids)
        rows, state = self.backend.gather(RELATION_ENDS, STATE, ids=ids)
        changed = [row for row in rows if bool(row[4]) != bool(moment)]
        if changed:
            self.backend.execute(statement, ids=ids, **moment)
            heads = {row[1] for row in changed}
            facts = {(row[1], row[5], row[2]) for row in changed}
            derive_again(self.backend, State(state).functional, heads=heads, facts=facts)
            self.backend.execute(COUNT_CHANGE, changes=1, moves=0)
        return len(changed)

    @writing
    def delete_fact(self, relation_id: int) -> int:
        """Take a relation back, with all that states the same; the number taken back.

        Other periods of the fact stay. What texts state is retracted, and stays so where a text is
        indexed again or another one states it, as long as a text that was retracted is there. What
        was written by hand is deleted. An unknown id takes nothing back.
        """
        if not 0 < relation_id <= _LARGEST_ID:
            return 0
        ids = [row[0] for row in self.backend.rows(STATEMENTS_OF_FACT, id=int(relation_id))]
        # What was pruned is retracted once more, by hand: restoring what was pruned leaves it out.
        pruned = {row[0] for row in self.backend.rows(PRUNED_IDS)}
        self.restore_relations([id_ for id_ in ids if id_ in pruned])
        rows = self.backend.rows(RELATION_ENDS, ids=ids)
        living = [row for row in rows if not row[4]]
        self.delete_relations([row[0] for row in living])
        self.retract([row[0] for row in living if row[3]])
        return len(living)


# What is written by hand, by what a store holds already.


def _written_rows(
    relations: Iterable[NewRelation],
    aliases: Mapping[int, int],
    before: Mapping[int, RelationRow],
    first_id: int,
    functional: Sequence[RelationRow],
) -> tuple[dict[int, RelationRow], list[tuple[int, bool]]]:
    """Rows by id as they are to be; and (id, whether it is new) of each relation, in order.

    A row is one period of a fact: what ended and is stated again begins another. A statement
    without a beginning begins now where it is news: where the fact had ended before, or where it
    ends another one. Else nobody said since when it holds.

    Args:
        relations: What is stated.
        aliases: Those that entities are shown under, by entity id.
        before: What was written of these entities before and not retracted, by id.
        first_id: The next relation's id.
        functional: The functional facts of the heads, whoever states them.
    """
    rows, written, moment = dict(before), list[tuple[int, bool]](), now()
    by_fact: dict[FactKey, list[int]] = {}
    for row in before.values():
        by_fact.setdefault(row.fact, []).append(row.id)
    for relation in relations:
        next_id = first_id + len(rows) - len(before)
        row = _written_row(relation, aliases, next_id, moment)
        ids = by_fact.setdefault(row.fact, [])
        same = _same_period((rows[i] for i in ids), row)
        if same is not None:
            context = same.context if relation.context is None else row.context
            weight = same.weight if relation.weight is None else row.weight
            row = same.taken_over(row)._replace(context=context, weight=weight)
        else:
            if row.recorded_at == moment and _is_news(row, bool(ids), functional):
                row = row._replace(valid_from=moment)
            ids.append(row.id)
        rows[row.id] = row
        written.append((row.id, same is None))
    return rows, written


def _same_period(rows: Iterable[RelationRow], new: RelationRow) -> RelationRow | None:
    """The row of the same fact whose period a statement speaks of, which it brings up to date.

    With a beginning, the one that begins then, or one of which nobody said since when it holds and
    that had not ended by then. Without, the one that holds when it is told; or that held until the
    end that is told, where this is past.
    """
    start, until = new.valid_from, new.stated_until
    told = until if until is not None and until < new.recorded_at else new.recorded_at
    at = start or told
    met = [
        row
        for row in rows
        if row.valid_from == start is not None
        or (
            (start is None or row.valid_from is None)
            and (row.valid_from or "") <= at
            # One that ends as the statement says is the same.
            and (row.valid_until is None or row.valid_until > at or row.valid_until == until)
        )
    ]
    return max(met, key=lambda row: (row.valid_from == start, row.id), default=None)


def _is_news(row: RelationRow, is_known: bool, functional: Iterable[RelationRow]) -> bool:
    """Whether a statement without a beginning, of no period that holds, begins as it is told."""
    now = row.recorded_at
    if row.valid_from is not None or (row.stated_until is not None and row.stated_until <= now):
        return False
    return is_known or any(
        (one.from_entity_id, meaning_of(one.relation_type))
        == (row.from_entity_id, meaning_of(row.relation_type))
        and one.to_entity_id != row.to_entity_id
        and one.start <= now
        and (one.valid_until is None or one.valid_until > now)
        for one in functional
    )


def _written_row(
    relation: NewRelation, aliases: Mapping[int, int], relation_id: int, moment: str
) -> RelationRow:
    until = to_text(relation.valid_until)
    source, target = int(relation.source_id), int(relation.target_id)
    return RelationRow(
        id=relation_id,
        from_entity_id=source,
        to_entity_id=target,
        from_alias_id=aliases[source],
        to_alias_id=aliases[target],
        relation_type=relation.relation_type,
        weight=1.0 if relation.weight is None else float(relation.weight),
        is_causal=relation.is_causal,
        confidence=1.0,
        context=NO_CONTEXT if relation.context is None else json.dumps(dict(relation.context)),
        valid_from=to_text(relation.valid_from),
        valid_until=until,
        stated_until=until,
        recorded_at=to_text(relation.recorded_at) or moment,
        retracted_at=None,
        chunk_id=None,
        sentence=None,
        extractor=MANUAL,
    )
