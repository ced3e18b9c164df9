"""What a model adds or costs that routes questions and names their entities, by how often it errs.

    python -m benchmarks.guesses BENCH_DIR [--data musique] [--questions 50]

An oracle stands for the model: right with probability p, else it says something else at random.

Routing: these are questions of fact, for which `graph` is right. Each strategy is measured; right
with probability p is then p times the recall of `graph` and 1 - p that of the others, on average.

Entities: the questions as they are, and with the longest word of a known name misspelt (two letters
changed places). The oracle gives the names as they are written, each with probability p, else one
that the graph knows from elsewhere.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import clew
from clew.plugins.evaluation.run import BeirDataset, load_beir
from clew.ports import Reply, Request
from clew.search.question import find_seeds
from clew.search.rerank import Named
from clew.search.route import USES
from clew.settings import load_settings
from clew.testing.fakes import ScriptedLanguageModel
from clew.types import NamedStrategy

RANKS = (5, 10)
SHARES = (1.0, 0.9, 0.7, 0.5, 0.0)


class Oracle(ScriptedLanguageModel):
    """Names what questions are about; each name is another's with probability 1 - p."""

    def __init__(self, names: Mapping[str, Sequence[str]], share: float) -> None:
        super().__init__(name=f"oracle, {share}")  # replies are kept by name
        chance, others = random.Random(1), [name for found in names.values() for name in found]
        self._names = {
            text: [name if chance.random() < share else chance.choice(others) for name in found]
            for text, found in names.items()
        }

    def reply(self, request: Request) -> Reply:
        """The names of the question."""
        said = Named(names=self._names.get(request.subject, [])[:10])
        return Reply(text=said.model_dump_json(), finish="stop", model=self.name)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bench", type=Path, help="folder of BEIR data sets")
    parser.add_argument("--data", default="musique")
    parser.add_argument("--questions", type=int, default=50)
    given = parser.parse_args()
    data = load_beir(given.bench / given.data)
    data = replace(data, questions=data.questions[: given.questions])
    with tempfile.TemporaryDirectory(prefix="clew-guesses-") as folder:
        with clew.open(folder) as store:
            store.add_documents(data.documents)
            print_routing(store, data)
            names = {one.text: names_of(store, one.text) for one in data.questions}
        for kind, asked in (("as they are", data), ("misspelt", misspelt(data, names))):
            print(f"\nquestions {kind} | R@5 | R@10")
            with clew.open(folder) as store:
                print(row("by their words", recalls(store, asked, "graph")))
            said = {
                a.text: names[b.text] for a, b in zip(asked.questions, data.questions, strict=True)
            }
            settings = load_settings(store=folder)
            settings = settings.model_copy(
                update={"llm": settings.llm.model_copy(update={"entities": True})}
            )
            for share in SHARES:
                oracle = Oracle(said, share)
                with clew.open(settings=settings, language_model=oracle) as store:
                    print(row(f"p = {share}", recalls(store, asked, "graph")))


def recalls(store: clew.Clew, data: BeirDataset, strategy: str) -> list[float]:
    """Mean recall at each of `RANKS`."""
    found = [0.0] * len(RANKS)
    for question in data.questions:
        hits = store.search(
            question.text, strategy=NamedStrategy(strategy), limit=max(RANKS), context=False
        ).hits
        ids = [data.passage_of(hit.chunk.source, hit.chunk.key) for hit in hits]
        gold = {id_ for id_, grade in data.qrels[question.id].items() if grade > 0}
        for place, rank in enumerate(RANKS):
            found[place] += len(gold.intersection(ids[:rank])) / len(gold)
    return [share / len(data.questions) for share in found]


def row(name: str, shares: Sequence[float]) -> str:
    """A row of a table, in per cent."""
    return f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


def print_routing(store: clew.Clew, data: BeirDataset) -> None:
    """Recall of each strategy, and of an oracle that chooses among them."""
    found = {name: recalls(store, data, name) for name in USES}
    for name, shares in found.items():
        print(row(name, shares), flush=True)
    wrong = [shares for name, shares in found.items() if name != "graph"]
    means = [sum(shares) / len(wrong) for shares in zip(*wrong, strict=True)]
    for share in SHARES:
        pairs = zip(found["graph"], means, strict=True)
        print(row(f"p = {share}", [share * right + (1 - share) * mean for right, mean in pairs]))
    assert len(means) == len(RANKS)


def names_of(store: clew.Clew, question: str) -> list[str]:
    """The entities that the words of a question name, as the graph has them."""
    seeds = find_seeds(question, store.state.snapshot, store.store)
    known = store.store.resolve([seed.key for seed in seeds])
    return list(dict.fromkeys(store.store.entity_names(list(known.values())).values()))


def misspelt(data: BeirDataset, names: Mapping[str, Sequence[str]]) -> BeirDataset:
    """The questions, two letters within the longest word of a name exchanged."""
    return replace(
        data,
        questions=tuple(
            replace(one, text=_misspelt(one.text, names[one.text])) for one in data.questions
        ),
    )


def _misspelt(text: str, names: Sequence[str]) -> str:
    words = [word for name in names for word in name.split() if word in text and len(word) > 4]
    if not words:
        return text
    longest = max(words, key=len)
    middle = len(longest) // 2
    wrong = longest[:middle] + longest[middle + 1] + longest[middle] + longest[middle + 2 :]
    return text.replace(longest, wrong)


if __name__ == "__main__":
    main()
