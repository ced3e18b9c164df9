"""What a text touches of a constitution, what it may conflict with, and what was never asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.packs.constitution.chain import Elements, chain, current, related, weight_of
from clew.packs.constitution.node import LAYERS, MEDIA_TYPE, own_words
from clew.sentences import sentences
from clew.text import one_line, terms

if TYPE_CHECKING:
    from clew.engine import Engine
    from clew.types import DocumentInfo, StoredChunk

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
    chunks = _chunks(engine)
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


def _chunks(engine: Engine) -> list[StoredChunk]:
    """The passages of the principles and goals that hold now."""
    infos = [*current(engine, "principle"), *current(engine, "goal")]
    return [chunk for info in infos for chunk in engine.documents.chunks(info.source)]


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
        never = [one.title for one in infos if not _referenced(elements, one)]
        layers.append({"layer": layer, "elements": len(infos), "never": never})
    total = sum(one["elements"] for one in layers)
    missing = sum(len(one["never"]) for one in layers)
    return {"layers": layers, "coverage": round(1 - missing / total, 4) if total else 0.0}


def _referenced(elements: Elements, info: DocumentInfo) -> bool:
    entity_id = elements.resolve(info.title)
    return entity_id is not None and any(
        (one.relation_type == "references" and one.to_entity_id == entity_id)
        or (one.relation_type == "discussed_in" and one.from_entity_id == entity_id)
        for one in elements.relations(entity_id)
    )
