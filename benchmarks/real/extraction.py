"""How true what Clew reads is: names, types, relations and dates against labels by hand.

    uv run python -m benchmarks.real.extraction FOLDER [--json] [--draw FILE]

The files are read, split and extracted, not embedded and not stored. What the labels do not speak
of is counted as unlabelled, never as right. `--draw FILE` writes entities and relations drawn at
random from the unlabelled ones, to be judged: fill in `types` (those that are right; empty for
junk) or `right`, and add the lines to `labels/entities.jsonl` and `labels/relations.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.real.extracted import Sentence, read_folder, sentences
from benchmarks.real.labels import (
    DocumentDate,
    document_dates,
    judged_entities,
    judged_relations,
    marked_sentences,
    stating_sentences,
)
from clew.types import Document

DRAWN = 100
SEED = 12
PRONOUNS = frozenset("he she it they him her them his its their i me my we us our you this".split())
SHORTEST = 20
"""Characters that a part of a sentence needs to be taken for one."""
UNKNOWN = "name"
"""The type of what the extractor has no type for."""

Table = dict[str, dict[str, float]]


class Found:
    """Everything that was extracted, to be looked up by sentence."""

    def __init__(self, all_sentences: Iterable[Sentence]) -> None:
        self.by_text: dict[str, list[Sentence]] = defaultdict(list)
        self.names: dict[str, set[str]] = {"prose": set(), "code": set()}
        self.dates: dict[str, set[str]] = {"prose": set(), "code": set()}
        self.relations: dict[str, set[tuple[str, str, str]]] = {"prose": set(), "code": set()}
        for sentence in all_sentences:
            self.by_text[sentence.text].append(sentence)
            part = _part(sentence.path)
            self.names[part].update(_key(name.name) for name in sentence.names)
            self.dates[part].update(_key(n.name) for n in sentence.names if n.entity_type == "date")
            self.relations[part].update((r.head, r.relation, r.tail) for r in sentence.relations)

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of this text; where sentences break otherwise today, those within it."""
        return self.by_text.get(text) or [
            one
            for part, found in self.by_text.items()
            if len(part) >= SHORTEST and (text in part or part in text)
            for one in found
        ]


def main() -> None:
    """Extract, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--draw", type=Path, help="write unlabelled samples to be judged")
    given = parser.parse_args()
    documents: dict[str, Document] = {}
    everything: list[Sentence] = []
    for path, prepared in read_folder(given.folder):
        documents.setdefault(path, prepared.document)
        everything.extend(sentences(path, prepared))
    found = Found(everything)
    tables = {
        "names": names_in_sentences(found),
        "entities": entities_judged(found),
        "relations": relations_judged(found),
        "stated": relations_in_sentences(found),
        "dates": dates_judged(documents),
    }
    if given.draw:
        write_samples(everything, given.draw)
    if given.json:
        print(json.dumps(tables, indent=1))
        return
    for name, table in tables.items():
        print(f"\n## {name}")
        for row, counts in table.items():
            print(f"{row}: " + ", ".join(f"{what} {number:.4g}" for what, number in counts.items()))


def names_in_sentences(found: Found) -> Table:
    """Precision and recall of names, by surface, in the sentences that are marked whole."""
    hits = given = wanted = typed = typed_right = 0
    for marked in marked_sentences():
        surfaces = {
            _key(name.surface): name.entity_type
            for sentence in found.sentences(marked.sentence)
            for name in sentence.names
            if name.surface in marked.sentence and name.surface.casefold() not in PRONOUNS
        }
        gold = {_key(surface): types for surface, types in marked.names}
        optional = {_key(surface) for surface in marked.optional}
        both = surfaces.keys() & gold.keys()
        hits += len(both)
        given += len(surfaces.keys() - optional)
        wanted += len(gold)
        typed += sum(surfaces[key] != UNKNOWN for key in both)
        typed_right += sum(surfaces[key] in gold[key] for key in both)
    return {
        "in marked sentences": {
            "names": wanted,
            "found": hits,
            "precision": _share(hits, given),
            "recall": _share(hits, wanted),
        },
        "their types": {
            "typed": typed,
            "right of those typed": _share(typed_right, typed),
            "unknown": hits - typed,
        },
    }


def entities_judged(found: Found) -> Table:
    """Of the entities that were judged, those still given, and how many of them are right."""
    right = junk = kept = typed = typed_right = 0
    for judged in judged_entities():
        types = {
            name.entity_type
            for sentence in found.sentences(judged.sentence)
            for name in sentence.names
            if judged.name in (name.name, name.surface)
        }
        right += bool(judged.types)
        kept += bool(types and judged.types)
        junk += bool(types and not judged.types)
        if judged.types and types - {UNKNOWN}:
            typed += 1
            typed_right += bool(types & set(judged.types))
    total = len(found.names["prose"] | found.names["code"])
    return {
        "judged": {"right ones": right, "still given": kept, "junk still given": junk},
        "precision": {"of those still given": _share(kept, kept + junk)},
        "types": {"typed": typed, "right of those typed": _share(typed_right, typed)},
        "all": {"entities": total, "unlabelled": total - kept - junk},
    }


def relations_judged(found: Found) -> Table:
    """Of the relations that were judged, those still given; and how many there are an entity."""
    right = kept = junk = 0
    for judged in judged_relations():
        there = any(
            (judged.head, judged.relation, judged.tail) == (one.head, one.relation, one.tail)
            for sentence in found.sentences(judged.sentence)
            for one in sentence.relations
        )
        right += judged.right
        kept += there and judged.right
        junk += there and not judged.right
    total = len(found.relations["prose"] | found.relations["code"])
    table: Table = {
        "judged": {"right ones": right, "still given": kept, "junk still given": junk},
        "precision": {"of those still given": _share(kept, kept + junk)},
        "all": {"relations": total, "unlabelled": total - kept - junk},
    }
    for part, names in found.names.items():
        relations = len(found.relations[part])
        an_entity = relations / max(1, len(names))
        apart = relations / max(1, len(names - found.dates[part]))  # no relation names a date
        table[part] = {
            "entities": len(names),
            "relations": relations,
            "an entity": an_entity,
            "an entity, dates apart": apart,
        }
    return table


def relations_in_sentences(found: Found) -> Table:
    """Precision and recall of relations between names of a sentence, in those marked whole.

    A name counts as the one that it is a part of or has as a part: "Proudhon" in full.
    """
    hits = given = right = wanted = 0
    for marked in stating_sentences():
        text = marked.sentence.casefold()
        stated = {
            (_key(one.head), one.relation, _key(one.tail))
            for sentence in found.sentences(marked.sentence)
            for one in sentence.relations
        }
        # A title or a name from elsewhere is no name of the sentence.
        stated = {one for one in stated if all(n.split()[-1] in text for n in (one[0], one[2]))}
        wanted += len(marked.relations)
        hits += sum(any(_same(one, gold) for one in stated) for gold in marked.relations)
        given += len(stated)
        right += sum(any(_same(one, gold) for gold in marked.relations) for one in stated)
    counts = {"relations": wanted, "found": hits, "given": given}
    shares = {"precision": _share(right, given), "recall": _share(hits, wanted)}
    return {"in marked sentences": {**counts, **shares}}


def _same(one: tuple[str, str, str], gold: tuple[str, tuple[str, ...], str]) -> bool:
    head, relation_type, tail = one
    ends = ((head, _key(gold[0])), (tail, _key(gold[2])))
    return relation_type in gold[1] and all(a in b or b in a for a, b in ends)


def dates_judged(documents: dict[str, Document]) -> Table:
    """Documents dated, and right dates by where a document states its own."""
    dated = sum(document.created_at is not None for document in documents.values())
    table: Table = {"all": {"documents": len(documents), "dated": dated}}
    labels = [label for label in document_dates() if label.path in documents]
    for where in dict.fromkeys(label.where for label in labels):
        of_kind = [label for label in labels if label.where == where]
        right = sum(_date_right(label, documents[label.path]) for label in of_kind)
        table[where] = {"documents": len(of_kind), "right": right}
    return table


def _date_right(label: DocumentDate, document: Document) -> bool:
    """Whether a stated date is there, to the precision stated; undated documents have none."""
    if not label.dates:
        return document.created_at is None
    moments = [moment for moment in (document.created_at, document.updated_at) if moment]
    return any(m.isoformat().startswith(date) for m in moments for date in label.dates)


def write_samples(everything: Sequence[Sentence], file: Path) -> None:
    """Write entities and relations that no label speaks of, drawn at random (the same each run)."""
    known = {(judged.name, judged.sentence) for judged in judged_entities()}
    stated = {(judged.head, judged.relation, judged.tail) for judged in judged_relations()}
    names: dict[str, dict[str, Any]] = {}
    relations: dict[tuple[str, str, str], dict[str, Any]] = {}
    for sentence in everything:
        for name in sentence.names:
            if (name.name, sentence.text) not in known:
                row = {"name": name.name, "types": None, "sentence": sentence.text}
                names.setdefault(_key(name.name), {**row, "given": name.entity_type})
        for one in sentence.relations:
            key = (one.head, one.relation, one.tail)
            if key not in stated:
                row = dict(zip(("head", "relation", "tail"), key, strict=True))
                relations[key] = {**row, "right": None, "sentence": sentence.text}
    drawn = [*_draw(names.values()), *_draw(relations.values())]
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in drawn), "utf-8")


def _draw(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    every = list(rows)
    yield from random.Random(SEED).sample(every, min(DRAWN, len(every)))


def _part(path: str) -> str:
    return "code" if path.startswith("code/") and not path.endswith(".md") else "prose"


def _key(surface: str) -> str:
    return surface.strip("*~`_\"'().,:; ").casefold().removeprefix("the ")


def _share(part: float, whole: float) -> float:
    """In per cent."""
    return 100 * part / whole if whole else 0.0


if __name__ == "__main__":
    main()
