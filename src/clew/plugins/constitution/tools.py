"""Searching a layer of a constitution: elements by meaning, each with its chain up and down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np

from clew.engine import Engine
from clew.graph.export import fitting
from clew.operations.spec import Call, Limits, Result, between, operation, shape
from clew.plugins.constitution.reading import (
    BETWEEN,
    FIELDS,
    KINDS,
    LAYERS,
    MEDIA_TYPE,
    RELATED,
    RELATIONS,
    own_words,
)
from clew.ports import Embedder
from clew.search.options import read_last
from clew.text import (
    STOP_WORDS,
    entity_key,
    key_words,
    one_line,
    sentences,
    terms,
    words,
)
from clew.types import Entity, Relation, StoredChunk, Vectors, provenance_dict

WEIGHT_SHARE = 0.2
"""Share of the constitutional weight (priority, weight, status) in the order."""
_STATUS_WEIGHTS = {"active": 1.0, "proposed": 0.5, "deprecated": 0.0}
_LEAST_CONFIDENCE = 0.05
"""Chains are followed as long as they are at least that sure."""
_MOST_LINKS = 30
"""Elements of a chain, or related ones, of a hit."""
_ASKED = (
    (re.compile(rf"\b({'|'.join(KINDS)})s?\b", re.IGNORECASE), (), "the question says “{}”"),
    (
        re.compile(r"\b(?:why|for what reason|in whose name|on what ground)\b", re.IGNORECASE),
        ("value", "principle"),
        "“{}” asks for what lies above",
    ),
    (
        re.compile(r"\b(?:how do we|what do we do|what is done|which actions?)\b", re.IGNORECASE),
        ("goal", "principle"),
        "“{}” asks for what is done",
    ),
)
"""What of a question tells the layers that it is for, and why."""
_STATUSES = FIELDS["status"].choices
_ASKED_STATUS = re.compile(rf"\b(?:{'|'.join(_STATUSES)})\b", re.IGNORECASE)

Passage: TypeAlias = tuple[str, StoredChunk | None]
"""What is said of an element, and where; None: it was added by hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Element:
    """An element of a constitution, whether a document describes it or prose names it."""

    entity: Entity
    fields: Mapping[str, Any]
    passages: Sequence[Passage]
    vectors: Vectors
    """Of the passages."""

    def statements(self) -> list[str]:
        """Its name and the clauses of what is said of it, without lines of fields."""
        said = [text[start:end] for text, _ in self.passages for start, end in sentences(text)]
        return list(
            dict.fromkeys(
                clause
                for one in (self.entity.name, *said)
                if one.partition(":")[0].lower() not in self.fields
                for clause in clauses(one)
            )
        )[:_MOST_CLAUSES]


@dataclass
class Elements:
    """The elements of a store's constitution, as of a moment."""

    engine: Engine
    as_of: str | None = None
    by_id: dict[int, Entity] = field(default_factory=dict)
    _relations: dict[int, list[Relation]] = field(default_factory=dict)

    def relations(self, entity_id: int) -> list[Relation]:
        """Those that an element has, on either side; what holds no more is left out."""
        if entity_id not in self._relations:
            now = self.engine.state.now()
            moment = read_last("as_of", self.as_of, now) or now
            found = self.engine.store.relations([entity_id], as_of=moment)
            self._relations[entity_id] = found
            ends = {end for one in found for end in (one.from_entity_id, one.to_entity_id)}
            new = [end for end in ends if end not in self.by_id]
            self.by_id.update({one.id: one for one in self.engine.store.entities(new)})
        return self._relations[entity_id]

    def of(self, kinds: Iterable[str]) -> Iterator[Element]:
        """Those of some kinds that held then: what documents describe, then what prose names."""
        store, state = self.engine.store, self.engine.state
        layers = [id_ for layer in LAYERS for id_ in store.entities_of_type(layer).tolist()]
        keys = set(map(entity_key, store.entity_names(layers).values()))
        for kind in kinds:
            described = self.engine.entities.described(kind)
            ids = store.resolve([entity_key(info.title) for info in described])
            listed = store.entities_of_type(kind).tolist()
            left = {one.id: one for one in store.entities([*ids.values(), *listed])}
            self.by_id.update(left)
            for info in described:
                entity = left.pop(ids.get(entity_key(info.title), 0), None)
                if entity and held(info.metadata, self.as_of):
                    chunks = store.document_chunks(info.id)
                    yield Element(
                        entity=replace(entity, entity_type=kind),
                        fields=info.metadata,
                        passages=[(own_words(chunk.text), chunk) for chunk in chunks],
                        vectors=state.vectors.vectors([chunk.id for chunk in chunks]),
                    )
            for entity in left.values():
                passages = list(self._said(entity, keys)) or [(entity.name, None)]
                texts = [f"{entity.name}. {text}" for text, _ in passages]
                vectors = state.embedder.embed_documents(texts)
                yield Element(entity=entity, fields={}, passages=passages, vectors=vectors)

    def _said(self, entity: Entity, keys: Iterable[str]) -> Iterator[Passage]:
        """What is said of an element: from where it is named up to where another of `keys` is.

        Where passages state how it hangs together, others that name it say nothing of it.
        """
        if entity.content:
            yield entity.content, None
        store, key = self.engine.store, entity_key(entity.name)
        related = [one for one in self.relations(entity.id) if one.relation_type in RELATIONS]
        ids = {one.chunk_id for one in related if one.chunk_id} or store.entity_chunks(entity.id)
        read = [
            one
            for one in store.chunks(sorted(map(int, ids)))
            if one.metadata.get("entity_type") not in KINDS
        ][:_MOST]
        said = store.sentences([chunk.id for chunk in read])
        for chunk in read:
            is_meant = False
            for sentence in said[chunk.id]:
                folded = f" {key_words(sentence)} "
                named = [one for one in keys if f" {one} " in folded]
                if key in named or (is_meant and not named):
                    yield sentence, chunk
                is_meant = key == max(named, key=folded.rfind) if named else is_meant


def asked_layers(question: str, layer: str | None) -> tuple[tuple[str, ...], str]:
    """The layers that a question is for, and why."""
    if layer:
        return (layer,), "asked for"
    for pattern, layers, why in _ASKED:
        if found := pattern.search(question):
            return layers or (found[1].lower(),), why.format(found.group())
    return LAYERS, "the question names no layer"


def found_elements(
    elements: Elements, question: str, layers: Iterable[str], limit: int, status: str | None
) -> list[tuple[Element, int, float, float]]:
    """(element, its nearest passage, score, cosine) of those of a status, best first.

    score = (1 - `WEIGHT_SHARE`) · cosine, of the greatest, + `WEIGHT_SHARE` · weight.
    """
    vector = elements.engine.state.embedded(question)
    found = [
        (one, near := one.vectors @ vector, float(near.max()))
        for one in elements.of(layers)
        if status in (None, one.fields.get("status"))
    ]
    top = max((cosine for *_, cosine in found), default=0.0)
    scored = [
        (
            one,
            int(near.argmax()),
            (1 - WEIGHT_SHARE) * max(cosine, 0.0) / max(top, 1e-6)
            + WEIGHT_SHARE * weight_of(one.fields),
            cosine,
        )
        for one, near, cosine in found
    ]
    return sorted(scored, key=lambda one: -one[2])[:limit]


def weight_of(fields: Mapping[str, Any]) -> float:
    """How much an element counts, 0 to 1: priority of ten, weight, or what its status says."""
    for name, most in (("priority", 10), ("weight", 1)):
        if isinstance(fields.get(name), (int, float)):
            return float(fields[name]) / most
    return _STATUS_WEIGHTS.get(str(fields.get("status")), 0.5)


def held(fields: Mapping[str, Any], as_of: str | None) -> bool:
    """Whether an element held at a day (ISO), or holds now: older versions have an end."""
    since, until = str(fields.get("since", "")), str(fields.get("until", "9999"))
    return since <= as_of < until if as_of else "until" not in fields


def chain(elements: Elements, entity_id: int, kind: str) -> dict[str, list[dict[str, Any]]]:
    """The elements above and below one, by layer in the plural, with the confidence along the way.

    Confidences multiply from step to step; of several ways to an element the surest counts.
    """
    found: dict[str, list[dict[str, Any]]] = {f"{layer}s": [] for layer in LAYERS}
    if kind not in LAYERS:
        return found
    at = LAYERS.index(kind)
    for upward, layers in ((True, LAYERS[:at][::-1]), (False, LAYERS[at + 1 :])):
        frontier: dict[int, tuple[float, str]] = {entity_id: (1.0, elements.by_id[entity_id].name)}
        for layer in layers:
            relation = BETWEEN[layer if upward else LAYERS[LAYERS.index(layer) - 1]]
            frontier = _step(elements, frontier, relation, upward)
            found[f"{layer}s"] = [
                {
                    "id": id_,
                    "name": elements.by_id[id_].name,
                    "confidence": round(share, 4),
                    "path": path,
                }
                for id_, (share, path) in sorted(frontier.items(), key=lambda one: -one[1][0])
            ][:_MOST_LINKS]
    return found


def _step(
    elements: Elements, frontier: Mapping[int, tuple[float, str]], relation: str, upward: bool
) -> dict[int, tuple[float, str]]:
    reached: dict[int, tuple[float, str]] = {}
    for id_, (share, path) in frontier.items():
        for one in elements.relations(id_):
            ends = (one.from_entity_id, one.to_entity_id)
            start, end = ends[::-1] if upward else ends
            sure = share * one.confidence
            least = max(reached.get(end, (0.0, ""))[0], _LEAST_CONFIDENCE)
            if one.relation_type == relation and start == id_ and sure >= least:
                name = elements.by_id[end].name
                reached[end] = (sure, f"{name} ▸ {path}" if upward else f"{path} ▸ {name}")
    return reached


def related(elements: Elements, entity_id: int) -> list[dict[str, Any]]:
    """What complements it, conflicts with it, or depends on it, the strongest first; then its
    siblings, which the same element defines or guides.
    """
    found = [
        (one.confidence, one.to_entity_id, one.relation_type, "outbound")
        if one.from_entity_id == entity_id
        else (one.confidence, one.from_entity_id, one.relation_type, "inbound")
        for one in elements.relations(entity_id)
        if one.relation_type in RELATED
    ]
    for relation in BETWEEN.values():
        above = _step(elements, {entity_id: (1.0, "")}, relation, upward=True)
        beside = _step(elements, above, relation, upward=False)
        found += [(share, one, "sibling", "both") for one, (share, _) in beside.items()]
    return [
        {
            "id": other,
            "name": elements.by_id[other].name,
            "entity_type": elements.by_id[other].entity_type,
            "kind": kind,
            "direction": direction,
            "strength": round(strength, 4),
        }
        for strength, other, kind, direction in sorted(
            found, key=lambda one: (one[2] == "sibling", -one[0])
        )
        if other != entity_id
    ][:_MOST_LINKS]


def _parts(
    engine: Engine, results: Sequence[Mapping[str, Any]], budgets: Sequence[int]
) -> tuple[list[dict[str, Any]], int]:
    """The context part by part, each within its budget, whole lines only; and lines left out."""

    def count(line: str) -> int:
        return engine.state.embedder.count_tokens(line) + 1

    lines = {
        "elements": [
            f"{one['name']} ({one['entity_type']}): {one_line(one['text'])}" for one in results
        ],
        "hierarchy": [
            f"{end['path']} (confidence {end['confidence']:.2f})"
            for one in results
            for ends in one["chain"].values()
            for end in ends
        ],
        "related": [
            f"{one['name']}: {other['kind']}, {other['name']} ({other['strength']:.2f})"
            for one in results
            for other in one["related"]
        ],
    }
    parts, left_out = [], 0
    for (kind, found), budget in zip(lines.items(), budgets, strict=True):
        known = list(dict.fromkeys(found))
        kept = fitting(known, budget, count)
        left_out += len(known) - len(kept)
        if kept:
            text, tokens = "\n".join(kept), sum(map(count, kept))
            parts.append({"kind": kind, "text": text, "tokens": tokens})
    return parts, left_out


# What a text touches of a constitution, what it may violate, and what was never asked.


NEAR = 0.35
"""Cosine from which on a sentence touches an element."""
OPPOSED = 0.45
"""Cosine from which on a clause may oppose the statement that it is nearest to. What denies is left
out of both: texts that deny are near to each other, whatever they deny."""
_SAME = 0.45
"""Cosine of two words from which on one may speak of the other."""
_WORDS = 0.5
"""Share of an element's name that a sentence has in its words, from which on it does, too."""
_MOST_CLAUSES = 300
"""Clauses of a text that are looked at, and of an element."""
_MOST = 20
"""Elements named; passages of prose that one is read from."""
_PER_CLAUSE = 5
"""Elements, the nearest to a clause, whose statements it is compared with."""
_BREAK = re.compile(
    r"[;:,]\s++(?!not\b)|(?<!\s)\s++(?:and|but|because|so that|although|though|while|since|who"
    r"|which|whose)\s++|(?<![\s,]),?+\s++(?=(?:rather than|instead of|if)\s)|,\s++(?=not\s)"
)
# Words that deny what follows them; and those that say that what stands before them is undone.
_DENIES = re.compile(
    r"\b(?:not(?! only)|never|no longer(?! than)"
    r"|no(?!\W*[:,;]|\W+(?:more|less|fewer|later|longer|earlier|sooner) than)"
    r"|none|nobody|nothing|nowhere|neither|nor|cannot|hardly|rarely|seldom|instead of|rather than"
    r"|against|\w{2,9}n['’]t)\b",
    re.IGNORECASE,
)
_UNDONE = re.compile(
    r"\b(?:alone|on \w+ own|secret(?:ly)?|(?:thr[eo]wn?|throwing|giv\w+|gave) (?:\w+ ){0,3}away"
    r"|(?:leav\w+|left) (?:\w+ ){0,3}out|(?:switch|turn|cut|shut)\w* (?:\w+ ){0,3}(?:off|down))\b",
    re.IGNORECASE,
)
_LACKS = re.compile(r"\bwithout(?! (?:exception|fail|delay|doubt))\b", re.IGNORECASE)
_EXEMPTS = re.compile(r"\b(?:before|until|unless|except|without)\b", re.IGNORECASE)
# The first denial decides: to look behind each would take the square of the text's length.
_DEMANDS = re.compile(
    rf"\A(?>.*?\b(?:no(?:t|ne|body|thing)?|never|cannot)\b).*{_EXEMPTS.pattern}",
    re.IGNORECASE | re.DOTALL,
)
_SUPPOSES = re.compile(r"\?\s*$|^if\b|\b(?:would|could|might)\b", re.IGNORECASE)
# Verbs that deny what they are said of, after the classes of Levin, "English Verb Classes and
# Alternations" (1993): to avoid, neglect, remove, destroy, conceal, prohibit, and end.
_UNDOES = frozenset(
    terms(
        "avoid bypass circumvent dodge evade shun disregard fail forget forgot forgotten forgo"
        " ignore neglect omit overlook skip delete discard dismantle dispose drop eliminate erase"
        " exclude purge remove withdraw withdrew withdrawn wipe destroy scrap shred conceal hide"
        " hid hidden suppress withhold withheld ban decline deny disable forbid forbade forbidden"
        " prevent prohibit refuse reject abandon abolish cancel cease discontinue halt quit stop"
        " suspend terminate lack lose lost violate breach waive"
    )
)
_DURATION = re.compile(
    r"\b(?:(?P<count>\d+|[a-z]+(?:-[a-z]+)?)[ -](?P<unit>minute|hour|day|week|month|year)s?"
    r"|(?P<word>daily|weekly|monthly|yearly|forever|for ever|for good|indefinitely|permanently))\b",
    re.IGNORECASE,
)
_HOURS = {
    **{"minute": 1 / 60, "hour": 1, "day": 24, "week": 168, "month": 720, "year": 8760},
    **{"daily": 24, "weekly": 168, "monthly": 720, "yearly": 8760},
}
_NUMBERS = {"a": 1, "an": 1, "each": 1, "every": 1, "per": 1} | {
    word: number
    for numbers, written in (
        (range(1, 13), "one two three four five six seven eight nine ten eleven twelve"),
        (range(20, 101, 10), "twenty thirty forty fifty sixty seventy eighty ninety hundred"),
    )
    for number, word in zip(numbers, written.split(), strict=True)
}


def check(engine: Engine, text: str) -> dict[str, Any]:
    """The elements that a text touches, those that it may violate, and why.

    Without a language model: a sentence touches what it is near to by meaning, or names. A clause
    may violate the statement that it is nearest to, where it `opposes` it. What is declared to
    conflict with an element that the text touches and does not violate stands in tension with it.
    """
    ranges = sentences(text)
    said = [(text[a:b], one) for a, b in ranges for one in clauses(text[a:b])][:_MOST_CLAUSES]
    elements = Elements(engine)
    found = list(elements.of(LAYERS[::-1]))
    if not said or not found:
        note = (
            "the text is empty" if not said else "the store holds no values, principles and goals"
        )
        return {"touches": [], "conflicts": [], "tensions": [], "notes": [note]}
    embed = engine.state.embedder.embed_documents
    vectors = embed([_DENIES.sub(" ", clause) for _, clause in said])
    closeness = np.stack([(vectors @ one.vectors.T).max(axis=1) for one in found], axis=1)
    near = np.unique(np.argsort(-closeness, axis=1)[:, :_PER_CLAUSE])
    stated = [(at, one) for at in near.tolist() for one in found[at].statements()]
    cosines = vectors @ embed([_DENIES.sub(" ", one) for _, one in stated]).T
    violated: dict[int, dict[str, Any]] = {}
    for (sentence, clause), row in zip(said, cosines, strict=True):
        at, statement = stated[int(row.argmax())]
        why = opposes(clause, statement) if row.max() >= OPPOSED else ""
        if (
            why
            and not _SUPPOSES.search(clause + sentence[-1])
            and _speaks_of(engine.state.embedder, clause, statement)
            and _speaks_of(engine.state.embedder, statement, clause)
        ):
            told = f"“{one_line(sentence)}” {why} “{one_line(statement)}” ({row.max():.2f})"
            violated.setdefault(at, {**_short(found[at].entity), "why": told})
    touches = []
    for at in near.tolist():
        entity = found[at].entity
        own = cosines[:, [of == at for of, _ in stated]].max(axis=1)
        named = np.array([_named(clause, entity.name) for _, clause in said])
        close = np.maximum(own, np.where(named >= _WORDS, named, 0.0))
        if close.max() >= NEAR or at in violated:
            chunk = found[at].passages[0][1]
            touches.append(
                {
                    **_short(entity),
                    "score": round(float(close.max()), 4),
                    "weight": weight_of(found[at].fields),
                    "sentence": one_line(said[int(close.argmax())][0]),
                    "opposed": at in violated,
                    "chain": chain(elements, entity.id, entity.entity_type),
                    "source": chunk.source if chunk else "",
                }
            )
    touches = sorted(touches, key=lambda one: (not one["opposed"], -one["score"]))[:_MOST]
    tensions = {
        other["id"]: {
            **_short(elements.by_id[other["id"]]),
            "why": f"the text touches {one['name']!r} (“{one['sentence']}”), which conflicts with"
            f" it (strength {other['strength']:.2f})",
        }
        for one in reversed(touches)
        if not one["opposed"]
        for other in related(elements, one["id"])
        if other["kind"] == "conflicts"
    }
    return {
        "touches": touches,
        "conflicts": list(violated.values()),
        "tensions": list(tensions.values()),
        "notes": [],
    }


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence, as conjunctions and punctuation part them; no single words."""
    return [one.strip() for one in _BREAK.split(sentence) if len(terms(one)) > 1] or [sentence]


def opposes(clause: str, statement: str) -> str:
    """How a clause opposes a statement that it is near to; empty where it does not.

    One denies what the other affirms: an even number of negations affirms. “No … before …” demands
    what it exempts. Or both affirm, and the clause takes longer (or less than “at least” so long).
    """
    demands = _DEMANDS.search(statement)
    exempts = (_EXEMPTS if demands else _LACKS).search(clause)
    if (_denials(clause) + bool(exempts) - _denials(statement) - bool(demands)) % 2:
        return "opposes"
    given, limit = _duration(clause), _duration(statement)
    is_beyond = given < limit if "at least" in statement.lower() else given > limit
    return "goes beyond" if given and limit and is_beyond else ""


def _speaks_of(embedder: Embedder, one: str, other: str) -> bool:
    """Whether a text has a word near to the first that another denies, or denies something, too.

    “We had no rain” does not oppose “Mow the lawn”, though it denies and the latter affirms.
    """
    found = _DENIES.search(other) or _LACKS.search(other)
    denied = _content_words(other[found.end() :])[:1] if found else []
    said = _content_words(one)
    if not denied or not said or _DENIES.search(one) or _LACKS.search(one):
        return True
    vectors = embedder.embed_documents([*denied, *said])
    return bool((vectors[1:] @ vectors[0]).max() >= _SAME)


def _content_words(text: str) -> list[str]:
    """The words of a text that are more than its grammar."""
    return [word for word in words(text) if word not in STOP_WORDS]


def _denials(clause: str) -> int:
    """How many words and verbs of a clause deny."""
    rest, denying = _DENIES.subn(" ", clause)
    rest, undone = _UNDONE.subn(" ", rest)
    return denying + undone + len([one for one in terms(rest) if one in _UNDOES])


def _duration(clause: str) -> float:
    """Hours that a clause speaks of first; 0 where it speaks of none."""
    for found in _DURATION.finditer(clause.lower()):
        parts = (found["count"] or "one").split("-")
        if number := sum(int(n) if n.isdecimal() else _NUMBERS.get(n, 0) for n in parts):
            return number * _HOURS.get(found["unit"] or found["word"], inf)
    return 0.0


def _named(sentence: str, name: str) -> float:
    """The share of a name's words that a sentence has."""
    own = set(terms(name))
    return len(own & set(terms(sentence))) / max(len(own), 1)


def _short(one: Entity) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("id", "name", "entity_type")}


# What an assistant may ask of a constitution.


Said = Annotated[str, "The text.", Limits(max_length=100_000, blank=False)]


@operation(
    "Search a constitution",
    shape(query="string", layers="array", results="array", context="object"),
)
def constitution_search(
    call: Call,
    query: Annotated[str, "What is looked for, in words.", Limits(blank=False)],
    layer: Annotated[
        str | None,
        f"{', '.join(KINDS)}; else by the words of the query.",
        Limits(choices=tuple(KINDS)),
    ] = None,
    limit: Annotated[int, "Elements, at most; ", between(1, 50)] = 5,
    as_of: Annotated[
        str | None,
        "As it stood at the end of that day, such as 2024-05-31.",
        Limits(max_length=10),
    ] = None,
    status: Annotated[
        str | None,
        f"Goals of that status alone: {', '.join(_STATUSES)}; else the one that the query names.",
        Limits(choices=_STATUSES),
    ] = None,
    element_tokens: Annotated[
        int, "Tokens of the elements in the context; ", between(0, 100_000)
    ] = 1500,
    hierarchy_tokens: Annotated[int, "Tokens of the chains; ", between(0, 100_000)] = 1000,
    related_tokens: Annotated[int, "Tokens of what is related; ", between(0, 100_000)] = 1000,
) -> Result:
    """Values, principles and goals by meaning, each with its chain value ▸ principle ▸ goal, the
    confidence along it, what complements it or conflicts with it, and its siblings.
    """
    layers, reason = asked_layers(query, layer)
    if layers == ("goal",) and (named := _ASKED_STATUS.search(query)):
        status = status or named.group().lower()
    elements = Elements(call.engine, as_of)
    results = []
    for one, place, score, cosine in found_elements(elements, query, layers, limit, status):
        text, chunk = one.passages[place]
        origin = call.engine.store.provenance([chunk.id])[chunk.id] if chunk else None
        results.append(
            {
                **_short(one.entity),
                "text": text,
                "fields": {k: v for k, v in one.fields.items() if k in {*FIELDS, "line"}},
                "score": round(score, 4),
                "scores": {"vector": round(cosine, 4), "weight": weight_of(one.fields)},
                "chain": chain(elements, one.entity.id, one.entity.entity_type),
                "related": related(elements, one.entity.id),
                "provenance": provenance_dict(origin) if origin else {},
            }
        )
    budgets = (element_tokens, hierarchy_tokens, related_tokens)
    parts, left_out = _parts(call.engine, results, budgets)
    notes = [f"{left_out} lines of the context did not fit into its budgets"] if left_out else []
    return {
        "query": query,
        "layers": list(layers),
        "reason": reason,
        "results": results,
        "context": {"parts": parts},
        "notes": notes if results else ["no element of these layers was found"],
    }


@operation(
    "Check a text against a constitution",
    shape(touches="array", conflicts="array", tensions="array", notes="array"),
)
def constitution_check(call: Call, text: Said) -> Result:
    """The values, principles and goals that a text touches, those that it may violate, and why; and
    what is declared to be in tension with what it follows.
    """
    return check(call.engine, text)


@operation(
    "Check and record a conversation",
    shape(touches="array", conflicts="array", conversation="string"),
    rights="write",
    idempotent=True,
)
def constitution_record(
    call: Call,
    text: Said,
    title: Annotated[
        str,
        "What the conversation is called; one of that title is replaced.",
        Limits(blank=False),
    ],
) -> Result:
    """constitution_check, and the text kept as a conversation that references what it touches."""
    found = check(call.engine, text)
    links = [
        f"- references: {one['name']} [{min(one['score'], 1.0):.2f}]" for one in found["touches"]
    ]
    call.engine.add(
        "\n".join([text.strip(), *(["", "Relations:", *links] if links else [])]),
        source=f"conversation:{title}",
        title=title,
        media_type=MEDIA_TYPE,
        metadata={"entity_type": "conversation", "time": call.engine.state.now().isoformat()},
    )
    return {**found, "conversation": title}


@operation("Coverage of a constitution", shape(layers="array", coverage="number"))
def constitution_coverage(call: Call) -> Result:
    """Which values, principles and goals no conversation ever referenced."""
    elements = Elements(call.engine)
    layers, total, missing = [], 0, 0
    for layer in LAYERS:
        found = {one.entity.id: one.entity.name for one in elements.of([layer])}
        referenced = {
            one.to_entity_id if one.relation_type == "references" else one.from_entity_id
            for id_ in found
            for one in elements.relations(id_)
            if one.relation_type in ("references", "discussed_in")
        }
        never = [name for id_, name in found.items() if id_ not in referenced]
        layers.append({"layer": layer, "elements": len(found), "never": never})
        total, missing = total + len(found), missing + len(never)
    return {"layers": layers, "coverage": round(1 - missing / total, 4) if total else 0.0}


TOOLS = (constitution_search, constitution_check, constitution_record, constitution_coverage)
