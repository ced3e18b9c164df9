"""What the triples of a real language model add to retrieval: entered as `clew enrich` enters them.

    uv run python -m benchmarks.enrich BENCH_DIR/musique [--strategy graph] [--json]

The folder is a BEIR data set with `llm_triples.jsonl`: for each passage `_id`, `entities` and
`triples`. These were recorded without quotations, so each one quotes the sentence of its passage
that names both its ends, or the one that names either; what stands nowhere is dropped, as ever.
Everything is asked before and after, of the same store.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import clew
from benchmarks.recorded import RecordedExtraction, RecordedLanguageModel, quotation_of
from clew.library import Clew
from clew.plugins.evaluation.run import BeirDataset, load_beir, measure_strategy

TRIPLES = "llm_triples.jsonl"
SHOWN = ("recall@2", "recall@5", "recall@10")


def main(arguments: Sequence[str]) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.enrich")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strategy", action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    strategies = given.strategy or ["graph"]
    with tempfile.TemporaryDirectory(prefix="clew-enrich-") as folder:
        found = measure(given.folder, Path(folder), strategies)
    if given.json:
        sys.stdout.write(f"{json.dumps(found, indent=2)}\n")
        return
    for name, rows in (("without", found["before"]), ("with the model", found["after"])):
        for row in rows:
            figures = " / ".join(f"{100 * row[name]:.1f}" for name in SHOWN if name in row)
            sys.stdout.write(f"{row['strategy']:10} {name:15} R@2 / R@5 / R@10: {figures}\n")
    sys.stdout.write(f"{json.dumps(found['enriched'])}\n")


def measure(folder: Path, place: Path, strategies: Sequence[str]) -> dict[str, Any]:
    """Figures before and after, and what was entered."""
    dataset = load_beir(folder)
    with clew.open(place) as store:
        store.add_documents(dataset.documents)
        before = [measure_strategy(store, dataset, name) for name in strategies]
        model = RecordedLanguageModel(recorded(store, dataset, read_triples(folder / TRIPLES)))
    with clew.open(place, language_model=model) as store:
        (report,) = store.enrich("extract")
        after = [measure_strategy(store, dataset, name) for name in strategies]
        enriched = {
            "passages": report.done,
            "failed": len(report.failed),
            "facts": report.facts,
            "new_relations": report.new_relations,
            "dropped": dict(report.dropped),
            "requests": report.requests,
            "seconds": round(report.seconds, 1),
        }
    return {"dataset": dataset.name, "before": before, "after": after, "enriched": enriched}


def read_triples(file: Path) -> dict[str, dict[str, Any]]:
    """The model's records, by the passage's `_id`."""
    lines = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    # A few triples have more or fewer parts than three: the model did not keep to the form.
    return {
        record["_id"]: {**record, "triples": [t for t in record["triples"] if len(t) == 3]}
        for record in lines
    }


def recorded(
    store: Clew, dataset: BeirDataset, records: Mapping[str, dict[str, Any]]
) -> dict[str, RecordedExtraction]:
    """What the model found, by the text of the chunk that says so."""
    found: dict[str, RecordedExtraction] = {}
    for document in store.documents.list():
        passage = dataset.passage_of(document.source, None)
        record = records.get(passage or "", {"entities": [], "triples": []})
        texts = [chunk.text for chunk in store.documents.chunks(document.id)]
        found |= spread(texts, record["entities"], record["triples"])
    return found


def spread(
    texts: Sequence[str], entities: Iterable[str], triples: Iterable[Sequence[str]]
) -> dict[str, RecordedExtraction]:
    """A passage's record over its chunks: a triple goes where a sentence is most likely its own."""
    facts: dict[str, list[tuple[str, str, str, str]]] = {text: [] for text in texts}
    for head, relation, tail in triples:
        quotations = [(quotation_of(text, head, tail), text) for text in texts]
        quote, text = max(quotations, key=lambda one: _named(one[0], head, tail))
        facts[text].append((head, relation, tail, quote))
    names = list(entities)
    return {
        text: RecordedExtraction(
            entities=[(name, "name") for name in names if name in text], facts=facts[text]
        )
        for text in texts
    }


def _named(sentence: str, head: str, tail: str) -> int:
    folded = sentence.casefold()
    return (head.casefold() in folded) + (tail.casefold() in folded)


if __name__ == "__main__":
    main(sys.argv[1:])
