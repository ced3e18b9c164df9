"""What is so at the time that is asked about goes before what is so no more, or not yet.

What is told of an entity is not changed when the world does: another statement is added. Two
statements are of one thing where both state a relation of one meaning of the entity; two
observations also where they state different relations of a functional type, speak of one without a
name ("Is single."), or are as near in meaning to each other as to the question. Of these the one
goes first that holds at that time; of observations that are equals, one that does not say itself
that it is over or only planned, then the one that was told last before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.languages import read_word_lists
from clew.search.answer.blocks import Block, Form, cite_chunks, statement
from clew.search.answer.hits import is_bare
from clew.search.channels import Ranking
from clew.search.session import filtered_relations
from clew.stores.relations import meaning_of, named_in, without_any
from clew.text import STOP_WORDS, entity_key, one_line, question_terms, terms
from clew.types import Period, Standing, state_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clew.search.answer.blocks import RetrievalResult
    from clew.search.session import QuerySession
    from clew.types import Hit, PassageRecord, Relation, StoredChunk, Vectors

    Kind = Literal["now", "within", "before", "after", "course"]
    Fact = tuple[int, str, int]
    Group = tuple[int, str]


LOOKED_AT = 20
"""Passages, from the best, that may change places."""
RELATIONS = 500
"""Relations of the entities of which something was told that are looked at, heaviest first."""
ALIKE = 0.75
"""Cosine of two observations of an entity from which on they are of one thing."""
AS_NEAR = 0.8
"""Share of the older one's nearness to the question that the newer one has, at least."""
STILL_NEAR = 0.7
"""The same of one that says that something changed and has a word of the older one. All three by
`tests/unit/observation_pairs.jsonl`."""
_SHARED = 5
"""Letters of a word that another one holds, at least: "written" and "rewritten"."""

_SPOKEN = (without_any, named_in)
_NEVER = datetime.max.replace(tzinfo=UTC)
_WORDS = {
    name: re.compile("|".join(forms), re.IGNORECASE)
    for name, forms in read_word_lists(__package__, "standing.toml").items()
}


def says(text: str, *kinds: str) -> bool:
    """Whether a text has words of one of these kinds, see `standing.toml`."""
    return any(_WORDS[kind].search(text) for kind in kinds)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedMoment:
    """The time of which is asked what is so."""

    moment: datetime
    """Now, or the `as_of` of the question."""
    period: Period
    """What holds at some moment of it is asked for."""
    kind: Kind
    of_the_past: bool = False
    """Whether the verb is in the past: of what was so, and of what happened."""

    def wants(self, start: datetime | None, end: datetime | None) -> bool:
        """Whether what holds from `start` until `end` is what is asked for."""
        if self.kind == "within":
            return Period(start=start, end=end).overlaps(self.period)
        if self.kind == "course":
            return True
        state = state_at(self.moment, start, end)
        return state == {"now": "current", "before": "ended", "after": "planned"}[self.kind]


def asked_moment(session: QuerySession) -> AskedMoment:
    """The time that the question asks about; now, where its words ask for no other."""
    moment = (session.options.as_of or session.options.now).astimezone(UTC)
    period = session.options.period or session.named_period
    kind: Kind = "now"
    if session.asked_time.evolution:
        kind = "course"
    elif period is not None:
        kind = "within"
    elif says(session.question, "former", "asked_before"):
        kind = "before"
    elif says(session.question, "asked_after"):
        kind = "after"
    return AskedMoment(
        moment=moment,
        period=period or Period(start=None, end=None),
        kind=kind,
        of_the_past=says(session.question, "asked_past"),
    )


def known_relations(session: QuerySession, entity_ids: Sequence[int], limit: int) -> list[Relation]:
    """Relations of entities, what does not hold among them; with `as_of`, those recorded by then.

    All, where the store is younger than that.
    """
    as_of = session.options.as_of
    known = session.resources.store.relations(entity_ids, limit)
    return [one for one in known if as_of is None or one.recorded_at <= as_of] or known


def by_standing(
    session: QuerySession, found: RetrievalResult
) -> tuple[RetrievalResult, Mapping[int, Standing]]:
    """What was found, with what holds before what does not; the standing of what was told.

    Both by chunk id. What goes instead of something else is at least as sure to answer as that, by
    ranker and reader: both speak of what is asked, and neither knows what holds.
    """
    ids = found.ranking.ids[:LOOKED_AT].tolist()
    told = _Told.of(session, ids)
    order = told.in_order()
    chunks = [passage.chunk for passage in told.passages]
    for place in reversed(order):
        for other in told.instead[place]:
            _be_as_sure(session, chunks[other], chunks[place].id)
    first = [chunks[place].id for place in order]
    led = [*first, *(id_ for id_ in found.ranking.ids.tolist() if id_ not in set(first))]
    ranking = Ranking(np.array(led, dtype=np.int64), found.ranking.scores)
    return replace(found, ranking=ranking), told.standings()


def _be_as_sure(session: QuerySession, chunk: StoredChunk, than: int) -> None:
    """Raise how sure a passage is to answer to what another one is, where that is surer."""
    sure, readings = session.confidences, session.readings
    if than in sure:
        sure[chunk.id] = max(sure[than], sure.get(chunk.id, 0.0))
    own, other = readings.get(chunk.id), readings.get(than)
    if other is not None and (own is None or own.sureness < other.sureness):
        readings[chunk.id] = replace(other, span=own.span if own else (chunk.start, chunk.end))


@dataclass(frozen=True, kw_only=True)
class _Told:
    """The best passages, and what the store knows of the entities that they were told of."""

    asked: AskedMoment
    passages: Sequence[PassageRecord]
    """The best first."""
    owners: Mapping[str, int]
    """Entity ids by the key that something was told of."""
    relations: Mapping[Fact, list[Relation]]
    """Statements of each fact of these entities, and of the passages."""
    names: Mapping[int, str]
    """Keys of the names of the facts' ends."""
    named: frozenset[int]
    """Entities that the question names."""
    likeness: Vectors
    """Of each two, -1 to 1."""
    helps: Mapping[int, bool]
    """Whether passages help to answer, as the reader says; by chunk id."""
    functional: frozenset[str]
    """Meanings of types of which one relation holds at a time."""
    nearness: Sequence[float]
    """To the question, -1 to 1."""
    facts_of: dict[int, set[Fact]] = field(default_factory=dict)

    @classmethod
    def of(cls, session: QuerySession, chunk_ids: Sequence[int]) -> _Told:
        store, as_of = session.resources.store, session.options.as_of
        records = store.passage_records(chunk_ids, as_of=as_of).passages
        passages = [records[id_] for id_ in chunk_ids if id_ in records]
        owners = store.resolve([p.chunk.told_of for p in passages if p.chunk.told_of])
        vectors = _under_one_name(session, passages, owners)
        known = known_relations(session, sorted(set(owners.values())), RELATIONS)
        statements: dict[Fact, dict[int, Relation]] = {}
        for one in (*known, *(r for p in passages for r in p.relations)):
            statements.setdefault(one.fact, {})[one.id] = one
        ends = {end for head, _, tail in statements for end in (head, tail)}
        return cls(
            asked=asked_moment(session),
            passages=passages,
            owners=owners,
            relations={fact: list(found.values()) for fact, found in statements.items()},
            names={id_: entity_key(name) for id_, name in store.entity_names(sorted(ends)).items()},
            named=frozenset(seed.entity_id for seed in session.known_seeds),
            likeness=vectors @ vectors.T,
            helps={id_: one.relevance >= 0 for id_, one in session.readings.items()},
            functional=frozenset(map(meaning_of, session.resources.settings.relations.functional)),
            nearness=(vectors @ session.vector).tolist(),
        )

    # --- order

    def in_order(self) -> list[int]:
        """Places: each behind those that go before it, else in the order found."""
        order: list[int] = []
        seen: set[int] = set()

        def put(place: int) -> None:
            if place in seen:
                return
            seen.add(place)
            for other in self._before(place):
                put(other)
            order.append(place)

        for place in range(len(self.passages)):
            put(place)
        return order

    def _before(self, place: int) -> list[int]:
        """Places of the passages that go before one, the newest first."""
        if not is_bare(self.passages[place].chunk):
            return self.instead[place]
        # It says no more than the name, which the question has.
        told = (o for o, one in enumerate(self.passages) if not one.chunk.is_card)
        return [o for o in told if self._owner(o) == self._owner(place)][:1]

    @cached_property
    def instead(self) -> list[list[int]]:
        """Places of the passages that tell what holds instead of what each tells, newest first."""
        places = range(len(self.passages))
        newest = sorted(places, key=self._begins, reverse=self.asked.kind != "before")
        return [
            [o for o in newest if o != p and (self._holds_instead(o, p) or self._renews(o, p))]
            for p in places
        ]

    def _holds_instead(self, other: int, place: int) -> bool:
        """Whether the other states a relation of one type that holds then, and this one did not."""
        mine, theirs = self._by_group(place), self._by_group(other)
        return any(
            not any(map(self._is_wanted, mine[group]))
            and any(map(self._is_wanted, theirs[group]))
            # Who asks of the very thing wants what was told of it.
            and not any(self._other_end(fact, group) in self.named for fact in mine[group])
            for group in mine.keys() & theirs.keys()
        )

    def _is_wanted(self, fact: Fact) -> bool:
        return any(self.asked.wants(r.valid_from, r.valid_until) for r in self.relations[fact])

    def _by_group(self, place: int) -> dict[Group, list[Fact]]:
        """The facts that a passage states, by the entity and the meaning that they are of."""
        found: dict[Group, list[Fact]] = {}
        for head, relation_type, tail in self._facts(place):
            from_tail = tail in self.named and head not in self.named
            group = (tail if from_tail else head, meaning_of(relation_type))
            found.setdefault(group, []).append((head, relation_type, tail))
        return found

    def _other_end(self, fact: Fact, group: Group) -> int:
        return fact[2] if fact[0] == group[0] else fact[0]

    def _facts(self, place: int) -> set[Fact]:
        """What a passage states, and what is known of its entity with what it names."""
        if place not in self.facts_of:
            passage = self.passages[place]
            owner, text = self._owner(place), f" {entity_key(passage.chunk.text)} "
            stated = {relation.fact for relation in passage.relations}
            about = (fact for fact in self.relations if owner and owner in (fact[0], fact[2]))
            self.facts_of[place] = stated | {
                fact
                for fact in about
                if f" {self.names.get(fact[2] if fact[0] == owner else fact[0], '?')} " in text
            }
        return self.facts_of[place]

    # --- observations

    def _owner(self, place: int) -> int:
        """Id of the entity that it was told of; 0: of none."""
        return self.owners.get(self.passages[place].chunk.told_of, 0)

    def _begins(self, place: int) -> datetime:
        """When it was told, or the time to come from which on it holds; a plan may have none."""
        passage = self.passages[place]
        told = passage.provenance.written_at or passage.provenance.indexed_at
        starts = [time.start for time in passage.times if time.start and time.start > told]
        is_plan = says(passage.chunk.text, "plan")
        if starts and (is_plan or says(passage.chunk.text, "begins")):
            return min(starts)
        return _NEVER if is_plan and passage.chunk.told_of else told

    def _is_of_one_thing(self, other: int, place: int) -> bool:
        """Whether two observations of one entity say the same of it, as far as is asked."""
        cards = [self.passages[p].chunk.is_card for p in (place, other)]
        if any(cards) or not self._owner(place) or self._owner(other) != self._owner(place):
            return False
        mine, theirs = self._settled(place), self._settled(other)
        if any(mine[type_] != theirs[type_] for type_ in mine.keys() & theirs.keys()):
            return True
        none, named = self._unsettled(place, other)
        share = self.nearness[other] / max(self.nearness[place], 1e-6)
        if none or (named and share >= STILL_NEAR):
            return True
        earlier, later = sorted((place, other), key=self._begins)
        helps = [self.helps.get(self.passages[p].chunk.id, True) for p in (earlier, later)]
        if helps == [True, False]:
            return False
        alike = self.likeness[other, place] >= ALIKE and share >= AS_NEAR
        changed = says(self.passages[later].chunk.text, "changed") and share >= STILL_NEAR
        return alike or (changed and self._share_a_word(earlier, later))

    def _is_over(self, place: int) -> bool:
        """Whether an observation itself says that it is so no more."""
        passage = self.passages[place]
        if says(passage.chunk.text, "former", "over"):
            return not says(passage.chunk.text, "changed")
        states = {one.standing(self.asked.moment).state for one in passage.relations}
        return states == {"ended"}

    def _unsettled(self, place: int, other: int) -> tuple[bool, bool]:
        """Whether both speak of a functional meaning, and one has none of it, or states none."""
        texts = [self.passages[p].chunk.text for p in (place, other)]
        none, named = ([find(text) & self.functional for text in texts] for find in _SPOKEN)
        settled = [set(self._settled(p)) for p in (place, other)]
        mine, theirs = (set.union(*found) for found in zip(none, named, settled, strict=True))
        both = mine & theirs
        return bool(both & (none[0] | none[1])), bool(both - (settled[0] & settled[1]))

    def _settled(self, place: int) -> dict[str, set[int]]:
        """What an observation itself states of its entity by what only one holds of at a time."""
        found: dict[str, set[int]] = {}
        for one in self.passages[place].relations:
            meant = meaning_of(one.relation_type)
            if one.from_entity_id == self._owner(place) and meant in self.functional:
                found.setdefault(meant, set()).add(one.to_entity_id)
        return found

    def _share_a_word(self, place: int, other: int) -> bool:
        """Whether a word of one is one of the other, or part of one; names aside."""
        names = set(terms(self.passages[place].chunk.title))
        mine, theirs = (set(terms(self.passages[p].chunk.text)) - names for p in (place, other))
        return any(
            one == two or (min(len(one), len(two)) >= _SHARED and (one in two or two in one))
            for one in mine
            for two in theirs
        )

    def _renews(self, other: int, place: int) -> bool:
        """Whether another observation says the same of a later time that is asked about."""
        if self.asked.kind == "course" or not self._is_of_one_thing(other, place):
            return False
        if self._holds_instead(place, other):
            return False
        mine, theirs = self._begins(place), self._begins(other)
        if self.asked.kind in ("now", "before") and self._is_over(other) != self._is_over(place):
            is_past = self.asked.kind == "before"
            return self._is_over(other) == is_past and (is_past or not self.asked.of_the_past)
        if self.asked.kind in ("before", "after"):
            return theirs < mine if self.asked.kind == "before" else theirs > mine
        last = self.asked.moment if self.asked.kind == "now" else self.asked.period.end
        if last is not None and (mine >= last) != (theirs >= last):
            return theirs < last
        return theirs > mine

    # --- standing

    def standings(self) -> dict[int, Standing]:
        """Of the observations, by chunk id: at the moment, not at the time that is asked about."""
        return {
            passage.chunk.id: self._standing(place)
            for place, passage in enumerate(self.passages)
            if passage.chunk.told_of and not passage.chunk.is_card
        }

    def _standing(self, place: int) -> Standing:
        moment, passage = self.asked.moment, self.passages[place]
        begins = self._begins(place)
        known = Standing(state="current", told_at=passage.provenance.written_at)
        stated = [relation.standing(moment) for relation in passage.relations]
        if stated and not any(one.state == "current" for one in stated):
            last = max(stated, key=lambda one: one.valid_until or one.valid_from or moment)
            return replace(last, told_at=known.told_at)
        if begins > moment:
            start = None if begins == _NEVER else begins
            return replace(known, state="planned", valid_from=start)
        if self._is_renewed(place):
            return replace(known, state="earlier")
        since = [one.valid_from for one in stated if one.state == "current" and one.valid_from]
        until = [one.valid_until for one in stated if one.state == "current" and one.valid_until]
        return replace(
            known, valid_from=min(since, default=None), valid_until=max(until, default=None)
        )

    def _is_renewed(self, place: int) -> bool:
        """Whether something that was told later, and holds by now, says the same."""
        now = replace(self, asked=replace(self.asked, kind="now"))
        return any(
            now._renews(other, place) or now._holds_instead(other, place)
            for other in range(len(self.passages))
            if other != place and not self.passages[other].chunk.is_card
        )


def _under_one_name(
    session: QuerySession, passages: list[PassageRecord], owners: Mapping[str, int]
) -> Vectors:
    """Embeddings of the passages, and in its places what was told of one entity by what it says.

    An entity that was renamed or merged is asked for by one of its names: what was told under
    another one looks farther from the question, and from the rest, than it is.
    """
    vectors = session.vectors_of(np.array([p.chunk.id for p in passages], dtype=np.int64)).copy()
    places: dict[int, list[int]] = {}
    for place, passage in enumerate(passages):
        if passage.chunk.told_of and not passage.chunk.is_card:
            places.setdefault(owners.get(passage.chunk.told_of, 0), []).append(place)
    names = session.resources.store.entity_names(list(places))
    for owner, own in places.items():
        told = [passages[place] for place in own]
        if owner not in names or len({passage.chunk.title for passage in told}) < 2:
            continue
        texts = [f"{names[owner]}\n{passage.chunk.text}" for passage in told]
        made = session.resources.embedder.embed_documents(texts)
        order = np.argsort(-(made @ session.vector), kind="stable").tolist()
        vectors[own] = made[order]
        for place, at in zip(own, order, strict=True):
            passages[place] = told[at]
    return vectors


# Which of the things that passages are about precedes which, as relations state it.


PRECEDES = "precedes"
"""The relation that states an order in time."""
_PER_HIT = 50
"""Relations of what a passage is about, of which it is seen whether they state an order."""


def stated_order(
    session: QuerySession, hits: Sequence[Hit], labels: Mapping[int, str]
) -> list[Block]:
    """One block with a line for each pair, in the order of the hits; none where nothing is stated.

    `labels` are the periods of the hits, by chunk id.
    """
    titled = {entity_key(hit.chunk.title): hit for hit in reversed(hits)}
    titled.pop("", None)
    store = session.resources.store
    about = {id_: titled[key] for key, id_ in store.resolve(list(titled)).items()}
    limit = _PER_HIT * len(about)
    relations = store.relations(list(about), limit, as_of=session.options.as_of) if about else []
    ends = {
        (one.from_entity_id, one.to_entity_id)
        for one in filtered_relations(session, relations)
        if one.relation_type == PRECEDES
    }
    places = {hit.chunk.id: place for place, hit in enumerate(hits)}
    pairs = sorted(
        ((about[one], about[two]) for one, two in ends if one in about and two in about),
        key=lambda pair: [places[hit.chunk.id] for hit in pair],
    )
    if not pairs:
        return []
    lines = [
        " precedes ".join((f"{one_line(hit.chunk.title)} ({labels[hit.chunk.id]})") for hit in pair)
        for pair in pairs
    ]
    cited = {hit.chunk.id: hit.chunk for pair in pairs for hit in pair}
    form = Form(
        text="\n".join(f"- {line}" for line in lines), citations=cite_chunks(list(cited.values()))
    )
    return [Block(kind="timeline", heading="What precedes what", forms=(form,))]


# What was stated by hand of a question's entities: relations that no passage says.


LOOKED_AT_STATED_BY_HAND = 200
"""Relations of the question's entities that are looked at, heaviest first."""
SHOWN = 8
"""Relations that are shown."""


STATED = "Stated by hand"
"""Heading of what no passage says."""


def named_in_part(session: QuerySession, hits: Sequence[Hit]) -> Mapping[int, str]:
    """Names by id of entities that the question names by one word, "Oddny" for Oddny Vaal.

    They are among those of which the hits were told by hand, and the word is no name by itself.
    """
    by_itself = {word for seed in session.known_seeds for word in seed.key.split()}
    capital = " ".join(word for word in session.question.split() if word[:1].isupper())
    words = set(entity_key(capital).split()) - STOP_WORDS - by_itself
    keys = {hit.chunk.told_of for hit in hits} if words else ()
    store, meant = session.resources.store, [key for key in keys if words & set(key.split())]
    return store.entity_names(sorted(store.resolve(meant).values())) if meant else {}


def stated_by_hand(session: QuerySession, in_part: Mapping[int, str]) -> tuple[str, ...]:
    """A line for each relation with its standing; none where nothing was stated by hand.

    Of the entities that the question names, in whole or `in_part`.

    What holds at the time that is asked about comes first; of that, what has most of the question's
    words, then what is of a type nearest to it in meaning, then what was told last.
    """
    store = session.resources.store
    seeds = [*(seed.entity_id for seed in session.known_seeds), *in_part]
    if not seeds or not store.unstated_relations(seeds):
        return ()
    if session.options.where or session.options.period is not None:
        return ()  # what no passage says passes no filter
    known = known_relations(session, seeds, LOOKED_AT_STATED_BY_HAND)
    found = [one for one in known if one.chunk_id is None]
    if not found:
        return ()
    names = store.entity_names(
        [id_ for one in found for id_ in (one.from_entity_id, one.to_entity_id)]
    )
    when = asked_moment(session)
    asked = set(question_terms(session.question))
    if other := _WORDS["beside"].search(session.question):  # "before Oslo" asks for another place
        asked -= set(terms(other["name"]))
    nearness = _nearness(session, found, in_part.values())
    lines = []
    for one in found:
        line = statement(
            names.get(one.from_entity_id, "?"), one.relation_type, names.get(one.to_entity_id, "?")
        )
        place = (
            not when.wants(one.valid_from, one.valid_until),
            -len(asked & set(terms(line))),
            -nearness[one.relation_type],
            -(one.valid_from or one.recorded_at).timestamp(),
        )
        lines.append((place, f"{line} ({one.standing(when.moment)})"))
    return tuple(dict.fromkeys(line for _, line in sorted(lines)))[:SHOWN]


def _nearness(
    session: QuerySession, relations: Sequence[Relation], in_part: Iterable[str]
) -> dict[str, float]:
    """How near in meaning the types are to what is asked of the names."""
    types = sorted({relation.relation_type for relation in relations})
    if len(types) < 2:
        return dict.fromkeys(types, 0.0)
    keys = [*(seed.key for seed in session.known_seeds), *map(entity_key, in_part)]
    names = {word for key in keys for word in key.split()}
    asked = [w for w in session.question.split() if names.isdisjoint(entity_key(w).split())]
    kept, embedder = session.resources.query_vectors, session.resources.embedder
    texts = [" ".join(asked), *(name.replace("_", " ") for name in types)]
    vectors = np.array([kept.get_or_make(t, partial(embedder.embed_query, t)) for t in texts])
    return dict(zip(types, (vectors[1:] @ vectors[0]).tolist(), strict=True))


def stated_block(stated: Sequence[str]) -> list[Block]:
    """One block with these lines; none where there is none."""
    form = Form(text="\n".join(f"- {line}" for line in stated), citations=())
    return [Block(kind="subgraph", heading=STATED, forms=(form,))] if stated else []
