"""Searching a layer of a constitution: elements by meaning, each with its chain up and down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

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
    own_words,
)
from clew.text import entity_key, one_line, sentences, terms
from clew.types import DocumentInfo, Entity, Hit, Relation, StoredChunk, provenance_dict

WEIGHT_SHARE = 0.2
"""Share of the constitutional weight (priority, weight, status) in the order."""
_STATUS_WEIGHTS = {"active": 1.0, "proposed": 0.5, "deprecated": 0.0}
_UNKNOWN_WEIGHT = 0.5
_PER_LAYER = 20
"""Passages looked at for each layer."""
_LEAST_CONFIDENCE = 0.05
"""Chains are followed as long as they are at least that sure."""
_MOST_LINKS = 30
"""Elements of a chain, or related ones, of a hit."""
_ASKED_LAYER = re.compile(r"\b(value|principle|goal|topic|conversation)s?\b", re.IGNORECASE)
_ASKED_WHY = re.compile(r"\b(?:why|for what reason|in whose name|on what ground)\b", re.IGNORECASE)
_ASKED_HOW = re.compile(
    r"\b(?:how do we|what do we do|what is done|which actions?)\b", re.IGNORECASE
)


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
            found = self.engine.store.relations([entity_id], as_of=self._moment())
            self._relations[entity_id] = found
            ends = {end for one in found for end in (one.from_entity_id, one.to_entity_id)}
            new = [end for end in ends if end not in self.by_id]
            self.by_id.update({one.id: one for one in self.engine.store.entities(new)})
        return self._relations[entity_id]

    def _moment(self) -> Any:  # noqa: ANN401 - datetime
        from clew.search.options import read_last

        now = self.engine.state.now()
        return read_last("as_of", self.as_of, now) or now

    def resolve(self, name: str) -> int | None:
        """The id of the element of a name; it is in `by_id` from then on."""
        ids = list(self.engine.store.resolve([entity_key(name)]).values())
        self.by_id.update({one.id: one for one in self.engine.store.entities(ids)})
        return ids[0] if ids else None


def asked_layers(question: str, layer: str | None) -> tuple[tuple[str, ...], str]:
    """The layers that a question is for, and why."""
    if layer:
        return (layer,), "asked for"
    if found := _ASKED_LAYER.search(question):
        return (found[1].lower(),), f"the question says “{found.group()}”"
    if found := _ASKED_WHY.search(question):
        return ("value", "principle"), f"“{found.group()}” asks for what lies above"
    if found := _ASKED_HOW.search(question):
        return ("goal", "principle"), f"“{found.group()}” asks for what is done"
    return LAYERS, "the question names no layer"


def found_elements(
    engine: Engine, question: str, layers: Iterable[str], limit: int, as_of: str | None
) -> list[tuple[Hit, float, float]]:
    """(passage, score, weight) of each element found, best first: each once, by its best passage.

    score = (1 - `WEIGHT_SHARE`) · the search's score, of the greatest, + `WEIGHT_SHARE` · weight.
    """
    hits: dict[str, Hit] = {}
    for layer in layers:
        found = engine.search(
            question,
            strategy="hybrid",
            fusion="weighted",
            alpha=0.3,
            where=[f"entity_type={layer}"],
            limit=_PER_LAYER,
            as_of=as_of,
            context=False,
        )
        for hit in found.hits:
            known = hits.get(hit.chunk.document_id)
            if known is None or known.score < hit.score:
                hits[hit.chunk.document_id] = hit
    top = max((hit.score for hit in hits.values()), default=0.0) or 1.0
    scored = [
        (hit, (1 - WEIGHT_SHARE) * hit.score / top + WEIGHT_SHARE * weight, weight)
        for hit in hits.values()
        for weight in [weight_of(hit.chunk.metadata)]
        if held(hit.chunk.metadata, as_of)
    ]
    return sorted(scored, key=lambda one: -one[1])[:limit]


def weight_of(fields: Mapping[str, Any]) -> float:
    """How much an element counts, 0 to 1: priority of ten, weight, or what its status says."""
    if isinstance(fields.get("priority"), (int, float)):
        return float(fields["priority"]) / 10
    if isinstance(fields.get("weight"), (int, float)):
        return float(fields["weight"])
    return _STATUS_WEIGHTS.get(str(fields.get("status")), _UNKNOWN_WEIGHT)


def current(engine: Engine, kind: str) -> list[DocumentInfo]:
    """The documents of the elements of a kind that hold now."""
    found = engine.documents.list([f"entity_type={kind}"])
    return [one for one in found if held(one.metadata, None)]


def held(fields: Mapping[str, Any], as_of: str | None) -> bool:
    """Whether an element held at a day (ISO), or holds now: older versions have an end."""
    if as_of is None:
        return "until" not in fields
    since, until = str(fields.get("since", "")), str(fields.get("until", "9999"))
    return since <= as_of < until


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
            if one.relation_type != relation or start != id_ or sure < _LEAST_CONFIDENCE:
                continue
            if sure > reached.get(end, (0.0, ""))[0]:
                name = elements.by_id[end].name
                reached[end] = (sure, f"{name} ▸ {path}" if upward else f"{path} ▸ {name}")
    return reached


def related(elements: Elements, entity_id: int) -> list[dict[str, Any]]:
    """What complements it, conflicts with it, or depends on it, the strongest first."""
    found: list[dict[str, Any]] = []
    for one in elements.relations(entity_id):
        if one.relation_type in RELATED:
            other = one.to_entity_id if one.from_entity_id == entity_id else one.from_entity_id
            found.append(
                {
                    "id": other,
                    "name": elements.by_id[other].name,
                    "entity_type": elements.by_id[other].entity_type,
                    "kind": one.relation_type,
                    "direction": "outbound" if one.from_entity_id == entity_id else "inbound",
                    "strength": round(one.confidence, 4),
                }
            )
    return sorted(found, key=lambda one: -one["strength"])[:_MOST_LINKS]


def search(
    engine: Engine,
    question: str,
    *,
    layer: str | None = None,
    limit: int = 5,
    as_of: str | None = None,
    budgets: Mapping[str, int],
) -> dict[str, Any]:
    """The elements nearest to a question, each with its chain, what it is related to, and why.

    `budgets` are tokens of the parts of the context: `elements`, `hierarchy`, `related`.
    """
    layers, reason = asked_layers(question, layer)
    elements = Elements(engine, as_of)
    results = []
    for hit, score, weight in found_elements(engine, question, layers, limit, as_of):
        entity_id = elements.resolve(hit.chunk.title)
        kind = str(hit.chunk.metadata["entity_type"])
        if entity_id is None:
            continue
        results.append(
            {
                "id": entity_id,
                "name": hit.chunk.title,
                "entity_type": kind,
                "text": own_words(hit.chunk.text),
                "fields": {k: v for k, v in hit.chunk.metadata.items() if k in {*FIELDS, "line"}},
                "score": round(score, 4),
                "scores": {**{n: round(s, 4) for n, s in hit.scores.items()}, "weight": weight},
                "chain": chain(elements, entity_id, kind),
                "related": related(elements, entity_id),
                "provenance": provenance_dict(hit.provenance),
            }
        )
    parts, left_out = _parts(engine, results, budgets)
    notes = [f"{left_out} lines of the context did not fit into its budgets"] if left_out else []
    return {
        "query": question,
        "layers": list(layers),
        "reason": reason,
        "results": results,
        "context": {"parts": parts},
        "notes": notes if results else ["no element of these layers was found"],
    }


def _parts(
    engine: Engine, results: Sequence[Mapping[str, Any]], budgets: Mapping[str, int]
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
    for kind, found in lines.items():
        known = list(dict.fromkeys(found))
        kept = fitting(known, budgets[kind], count)
        left_out += len(known) - len(kept)
        if kept:
            tokens = sum(map(count, kept))
            parts.append({"kind": kind, "text": "\n".join(kept), "tokens": tokens})
    return parts, left_out


# What a text touches of a constitution, what it may conflict with, and what was never asked.


NEAR = 0.35
"""Cosine from which on a sentence touches an element."""
_WORDS = 0.5
"""Share of an element's name that a sentence has in its words, from which on it does, too."""
_MOST_SENTENCES = 200
_MOST = 20
"""Elements named."""
_DENIES = re.compile(
    r"\b(?:not|never|no|without|skip\w*|ignor\w+|bypass\w*|avoid\w*|stop\w*|disabl\w+|hid(?:e|es|den|ing)"
    r"|drop\w*|against|instead of|no longer|refus\w+|neglect\w*|cannot|\w{2,9}n['’]t)\b",
    re.IGNORECASE,
)


def check(engine: Engine, text: str) -> dict[str, Any]:
    """The principles and goals that a text touches, those it may conflict with, and why.

    Without a language model: a sentence touches what it is near to by meaning, or names. It may
    conflict with what it denies (or affirms, where the element denies), and with what conflicts
    with an element that it touches and does not deny.
    """
    said = [text[start:end] for start, end in sentences(text)][:_MOST_SENTENCES]
    # The passages of the principles and goals that hold now.
    infos = [*current(engine, "principle"), *current(engine, "goal")]
    chunks = [chunk for info in infos for chunk in engine.documents.chunks(info.source)]
    if not said or not chunks:
        note = "the text is empty" if not said else "the store holds no principles and goals"
        return {"touches": [], "conflicts": [], "notes": [note]}
    vectors = engine.state.embedder.embed_documents(said)
    own = engine.state.vectors.vectors([chunk.id for chunk in chunks])
    cosines = vectors @ own.T
    elements = Elements(engine)
    touched: dict[str, dict[str, Any]] = {}
    for at, chunk in enumerate(chunks):
        near = int(np.argmax(cosines[:, at]))
        by_words, named = max((_named(one, chunk.title), n) for n, one in enumerate(said))
        score = max(float(cosines[near, at]), by_words if by_words >= _WORDS else 0.0)
        sentence = said[near if float(cosines[near, at]) >= by_words else named]
        if score >= NEAR and score > touched.get(chunk.title, {"score": 0.0})["score"]:
            touched[chunk.title] = _touched(elements, chunk, sentence, score)
    order = sorted(touched.values(), key=lambda one: -one["score"])[:_MOST]
    return {"touches": order, "conflicts": _conflicts(elements, order), "notes": []}


def _named(sentence: str, name: str) -> float:
    """The share of a name's words that a sentence has."""
    words = set(terms(name))
    return len(words & set(terms(sentence))) / len(words) if words else 0.0


def _touched(elements: Elements, chunk: StoredChunk, sentence: str, score: float) -> dict[str, Any]:
    entity_id = elements.resolve(chunk.title) or 0
    kind = str(chunk.metadata["entity_type"])
    denial, own = _DENIES.search(sentence), own_words(chunk.text)
    stated = [chunk.title, *(own[start:end] for start, end in sentences(own))]
    meant = max(stated, key=lambda one: _named(sentence, one))
    opposed = (denial is None) != (_DENIES.search(meant) is None)
    return {
        "id": entity_id,
        "name": chunk.title,
        "entity_type": kind,
        "score": round(score, 4),
        "weight": weight_of(chunk.metadata),
        "sentence": one_line(sentence),
        "denies": denial.group() if denial and opposed else "",
        "opposed": opposed,
        "chain": chain(elements, entity_id, kind) if entity_id else {},
        "source": chunk.source,
    }


def _conflicts(elements: Elements, touched: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in touched:
        if one["opposed"]:
            said = f"says “{one['denies']}”" if one["denies"] else "affirms what the element denies"
            why = f"“{one['sentence']}” is near to it ({one['score']:.2f}) and {said}"
            found[one["name"]] = {**_short(one), "why": why}
            continue
        for other in related(elements, one["id"]):
            if other["kind"] == "conflicts" and other["name"] not in found:
                why = (
                    f"the text touches {one['name']!r} (“{one['sentence']}”), which conflicts"
                    f" with it (strength {other['strength']:.2f})"
                )
                found[other["name"]] = {**_short(other), "why": why}
    return list(found.values())


def _short(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("id", "name", "entity_type")}


def record(engine: Engine, text: str, title: str) -> dict[str, Any]:
    """`check`, kept as a conversation that references what it touches; asked again, replaced."""
    found = check(engine, text)
    links = [
        f"- references: {one['name']} [{min(one['score'], 1.0):.2f}]" for one in found["touches"]
    ]
    body = "\n".join([text.strip(), "", "Relations:", *links]) if links else text.strip()
    engine.add(
        body,
        source=f"conversation:{title}",
        title=title,
        media_type=MEDIA_TYPE,
        metadata={"entity_type": "conversation", "time": engine.state.now().isoformat()},
    )
    return {**found, "conversation": title}


def coverage(engine: Engine) -> dict[str, Any]:
    """By layer: how many elements conversations reference, and those that none ever did."""
    elements = Elements(engine)
    layers: list[dict[str, Any]] = []
    for layer in LAYERS:
        infos = current(engine, layer)
        never = []
        for info in infos:
            entity_id = elements.resolve(info.title)
            is_referenced = entity_id is not None and any(
                (one.relation_type == "references" and one.to_entity_id == entity_id)
                or (one.relation_type == "discussed_in" and one.from_entity_id == entity_id)
                for one in elements.relations(entity_id)
            )
            if not is_referenced:
                never.append(info.title)
        layers.append({"layer": layer, "elements": len(infos), "never": never})
    total = sum(one["elements"] for one in layers)
    missing = sum(len(one["never"]) for one in layers)
    return {"layers": layers, "coverage": round(1 - missing / total, 4) if total else 0.0}


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
    element_tokens: Annotated[
        int, "Tokens of the elements in the context; ", between(0, 100_000)
    ] = 1500,
    hierarchy_tokens: Annotated[int, "Tokens of the chains; ", between(0, 100_000)] = 1000,
    related_tokens: Annotated[int, "Tokens of what is related; ", between(0, 100_000)] = 1000,
) -> Result:
    """Values, principles and goals by meaning, each with its chain value ▸ principle ▸ goal, the
    confidence along it, and what complements it or conflicts with it.
    """
    budgets = {
        "elements": element_tokens,
        "hierarchy": hierarchy_tokens,
        "related": related_tokens,
    }
    return search(call.engine, query, layer=layer, limit=limit, as_of=as_of, budgets=budgets)


@operation(
    "Check a text against a constitution",
    shape(touches="array", conflicts="array", notes="array"),
)
def constitution_check(call: Call, text: Said) -> Result:
    """The principles and goals that a text touches, those that it may conflict with, and why."""
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
    return record(call.engine, text, title)


@operation("Coverage of a constitution", shape(layers="array", coverage="number"))
def constitution_coverage(call: Call) -> Result:
    """Which values, principles and goals no conversation ever referenced."""
    return coverage(call.engine)


TOOLS = (constitution_search, constitution_check, constitution_record, constitution_coverage)
