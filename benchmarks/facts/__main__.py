"""Measure how many facts of ordinary life and work Clew reads from sentences that state them.

    uv run python -m benchmarks.facts

`sentences.jsonl` beside this file holds sentences of invented people's folders with all facts that
each states between two of its names: kin, work, homes, purchases, who taught, treated or replaced
whom. A pair is found where the extractor gives a relation between the two names; the relation is
right where it is of the same kind, by `SAME`. Pairs that nobody marked count as wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.real.extracted import steps_of
from clew.indexing.processes import Steps
from clew.text import entity_key
from clew.types import Document

SENTENCES = Path(__file__).with_name("sentences.jsonl")
SAME = {
    "married_to": ("married", "partner_of", "spouse_of", "engaged_to"),
    "parent_of": ("father_of", "mother_of"),
    "child_of": ("son_of", "daughter_of"),
    "sibling_of": ("brother_of", "sister_of"),
    "works_at": ("works_for", "employed_by", "works_in"),
    "works_for": ("works_at", "employed_by"),
    "leads": ("chairs", "directs", "runs", "head_of", "captain_of"),
    "lives_in": ("lived_in", "moved_to", "located_in"),
    "from": ("born_in", "born_at", "comes_from"),
    "located_in": ("lives_in", "based_in", "part_of"),
    "made": ("wrote", "built", "created_by", "written_by", "built_by", "painted_by", "authored_by"),
    "owns": ("owned_by", "bought", "acquired"),
    "teaches": ("taught", "taught_by"),
    "said_to": ("wrote_to", "told", "asked"),
    "travelled_to": ("went_to", "visited", "moved_to"),
    "replaced": ("replaced_by", "succeeded", "succeeded_by"),
    "also_called": ("nickname_of", "known_as"),
    "type_of": ("is_a",),
}
"""Names of relations that say the same as the marked one, in either direction."""


def main() -> None:
    """Print which share of the facts is read, and which share of what is read is one."""
    counts: Counter[str] = Counter()
    steps = steps_of()
    of_kind: dict[str, Counter[str]] = {}
    for told in map(json.loads, SENTENCES.read_text("utf-8").splitlines()):
        facts = {
            frozenset(map(entity_key, (head, tail))): kind for head, kind, tail in told["facts"]
        }
        found = dict(read(steps, told))
        counts["facts"] += len(facts)
        counts["relations"] += len(found)
        for pair, relation in found.items():
            counts["pairs found"] += pair in facts
            right = pair in facts and relation in (facts[pair], *SAME.get(facts[pair], ()))
            counts["right"] += right
        for pair, kind in facts.items():
            of_kind.setdefault(kind, Counter()).update(all=1, found=pair in found)
    print(f"{counts['facts']:,} facts, {counts['relations']:,} relations between two marked names")
    print(f"recall of pairs {counts['pairs found'] / counts['facts']:.1%}")
    print(f"recall {counts['right'] / counts['facts']:.1%}")
    print(f"precision {counts['right'] / max(1, counts['relations']):.1%}")
    for kind, own in sorted(of_kind.items(), key=lambda one: -one[1]["all"]):
        print(f"{kind:<14}{own['found']:>4} of {own['all']}")


def read(steps: Steps, told: dict[str, Any]) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the pairs of marked names between which the extractor finds a relation, by key."""
    text = f"{told['before']} {told['sentence']}"
    document = Document(source="sentence.txt", title=told["title"], text=text)
    names = set(map(entity_key, told["names"]))
    for chunk in steps.prepare(document).extraction.chunks:
        for one in chunk.relations:
            pair = frozenset((entity_key(one.head), entity_key(one.tail)))
            if pair <= names and len(pair) == 2:
                yield pair, one.relation_type


if __name__ == "__main__":
    main()
