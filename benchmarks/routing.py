"""How well the router tells what a question is for: accuracy, confusions, and where others go.

    uv run python -m benchmarks.routing [BENCH_DIR] [--model [N]]

The labelled questions are those of `benchmarks/routing/*.jsonl`: `question`, `corpus`, `label` (the
strategy that a person would choose) and `also` (others that would do). Half of them, by a hash of
the question, were looked at while the rules were written (`design`), the others never (`held_out`).

The entities of a question are those that a store finds in it: of the demo corpus, and of each data
set `BENCH_DIR/<corpus>` (a BEIR folder, or a folder of such). Without a corpus nothing is known but
capitals, and no passage is dated. The stores' embeddings are hashes: names do not depend on them.

With --model the language model that the settings name routes the first N held-out questions (by
their hash), too, and it is said how often it agrees with the rules.

With BENCH_DIR the data sets' own questions are routed, too: they are questions of fact, which
belong to `graph`, `multi_hop` (which rank alike) or, about a period of dated passages, `temporal`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path

import clew
from clew.engine import Engine
from clew.plugins.evaluation.run import BeirDataset, is_beir, load_beir
from clew.plugins.llm.client import LanguageModelClient
from clew.search.question import find_seeds, read_time
from clew.search.route import Features, read_features, route, route_with_model
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.wiring import make_language_provider

LABELS = Path(__file__).parent / "routing"
DEMO = "demo"
REAL = "real"
"""The documents of `benchmarks.real`."""
TODAY = datetime(2024, 2, 1, tzinfo=UTC)
"""What "yesterday" counts from, so that figures can be repeated."""
FACT = ("graph", "multi_hop", "temporal")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question and what a person would choose for it."""

    question: str
    corpus: str
    label: str
    also: tuple[str, ...]

    @property
    def split(self) -> str:
        """`design` or `held_out`, by a hash of the question."""
        return "held_out" if hashlib.sha256(self.question.encode()).digest()[0] % 2 else "design"


@dataclass(frozen=True, slots=True)
class Routed:
    """A labelled question and what the router chose."""

    asked: Labelled
    chosen: str

    @property
    def exact(self) -> bool:
        """Whether it is what a person would choose first."""
        return self.chosen == self.asked.label

    @property
    def acceptable(self) -> bool:
        """Whether it is among those that a person would choose."""
        return self.exact or self.chosen in self.asked.also


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bench", nargs="?", type=Path, help="folder of BEIR data sets")
    parser.add_argument(
        "--wrong", action="store_true", help="also list the wrong ones of the design half"
    )
    parser.add_argument("--real", type=Path, help="the store that `benchmarks.real` made")
    parser.add_argument(
        "--model", type=int, nargs="?", const=100, help="ask the configured model N questions"
    )
    given = parser.parse_args()
    routed: list[Routed] = []
    facts: dict[str, Counter[str]] = {}
    features: dict[str, Features] = {}
    labelled = read_labelled(LABELS)
    for corpus in dict.fromkeys(one.corpus for one in labelled):
        datasets = read_datasets(given.bench / corpus) if given.bench else []
        with open_store(corpus, datasets, given.real) as engine:
            own = [one for one in labelled if one.corpus == corpus]
            features |= {one.question: features_of(one.question, engine) for one in own}
            routed += [Routed(one, choose(one.question, engine)) for one in own]
            questions = [question.text for data in datasets for question in data.questions]
            if questions:
                facts[corpus] = Counter(choose(question, engine) for question in questions)
    print_accuracy(routed)
    if given.wrong:
        print_wrong(one for one in routed if one.asked.split == "design")
    if facts:
        print_facts(facts)
    if given.model:
        print_model(routed, features, given.model)
    print_speed([one.question for one in labelled])


def read_labelled(folder: Path) -> list[Labelled]:
    """All labelled questions, by file and line."""
    texts = [file.read_text("utf-8") for file in sorted(folder.glob("*.jsonl"))]
    records = [json.loads(line) for text in texts for line in text.splitlines()]
    return [
        Labelled(r["question"], r["corpus"], r["label"], tuple(r.get("also", ()))) for r in records
    ]


def read_datasets(folder: Path) -> list[BeirDataset]:
    """The BEIR folder, or those directly below it; none where there is no such folder."""
    candidates = [folder, *sorted(folder.glob("*"))]
    return [load_beir(path) for path in candidates if path.is_dir() and is_beir(path)]


@contextmanager
def open_store(corpus: str, datasets: Sequence[BeirDataset], real: Path | None) -> Iterator[Engine]:
    """A temporary store of the corpus, empty where that is not there; `real` is one that is."""
    if corpus == REAL and real is not None:
        with clew.open(real) as engine:
            yield engine
        return
    with (
        tempfile.TemporaryDirectory(prefix="clew-routing-") as folder,
        clew.open(folder, embedder=HashEmbedder(16)) as engine,
    ):
        if corpus == DEMO:
            with as_file(files("clew.cli") / "demo") as texts:
                engine.index([texts])
        for data in datasets:
            engine.add_documents(data.documents)
        yield engine


def choose(question: str, engine: Engine) -> str:
    """The strategy that the router chooses for a question to a store."""
    return route(question, features_of(question, engine)).strategy


def features_of(question: str, engine: Engine) -> Features:
    """What the pipeline knows of a question when it asks the router."""
    seeds = find_seeds(question, engine.state.snapshot, engine.store)
    return read_features(
        question,
        [seed.key for seed in seeds],
        asked=read_time(question, TODAY),
        dated=engine.store.newest_date(TODAY) is not None,
    )


# --- printing ----------------------------------------------------------------------------


def print_accuracy(routed: Sequence[Routed]) -> None:
    """Share of right choices by split, by corpus and by label; and what was taken for what."""
    print("| | questions | as labelled | acceptable |\n| --- | --- | --- | --- |")
    for split in ("design", "held_out"):
        own = [one for one in routed if one.asked.split == split]
        _print_share(f"**{split}**", own)
        for label, _ in Counter(one.asked.label for one in own).most_common():
            _print_share(f"{split}, {label}", [one for one in own if one.asked.label == label])
    for corpus in dict.fromkeys(one.asked.corpus for one in routed):
        _print_share(corpus, [one for one in routed if one.asked.corpus == corpus])
    for split in ("design", "held_out"):
        _print_confusion(split, [one for one in routed if one.asked.split == split])


def _print_share(name: str, routed: Sequence[Routed]) -> None:
    exact, acceptable = (
        100 * sum(flags) / len(routed)
        for flags in ([one.exact for one in routed], [one.acceptable for one in routed])
    )
    print(f"| {name} | {len(routed)} | {exact:.1f} % | {acceptable:.1f} % |")


def _print_confusion(split: str, routed: Sequence[Routed]) -> None:
    """Rows are labels, columns what was chosen; what would do as well counts as the label."""
    pairs = Counter(
        (one.asked.label, one.asked.label if one.acceptable else one.chosen) for one in routed
    )
    names = sorted({name for pair in pairs for name in pair})
    print(f"\n{split}: label (row) and choice (column)\n")
    print("| | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for label in names:
        cells = (str(pairs[label, chosen] or "") for chosen in names)
        print(f"| {label} | " + " | ".join(cells) + " |")


def print_wrong(routed: Iterable[Routed]) -> None:
    """The questions that were not routed acceptably."""
    print()
    for one in routed:
        if not one.acceptable:
            asked = one.asked
            print(f"{asked.corpus}: {asked.question!r}: {one.chosen}, labelled {asked.label}")


def print_facts(facts: dict[str, Counter[str]]) -> None:
    """Where the data sets' own questions go."""
    print("\n| data set | questions | fact | " + " | ".join(FACT) + " | others |")
    print("|" + " --- |" * (len(FACT) + 4))
    for name, counts in facts.items():
        total = counts.total()
        kept = sum(counts[strategy] for strategy in FACT)
        others = ", ".join(f"{s} {n}" for s, n in counts.most_common() if s not in FACT)
        cells = " | ".join(str(counts[strategy]) for strategy in FACT)
        print(f"| {name} | {total} | {100 * kept / total:.1f} % | {cells} | {others} |")


def print_model(routed: Sequence[Routed], features: dict[str, Features], most: int) -> None:
    """What the configured model chooses: form, agreement with the rules, accuracy of both."""
    held_out = [one for one in routed if one.asked.split == "held_out"]
    asked = sorted(held_out, key=lambda one: hashlib.sha256(one.asked.question.encode()).digest())
    settings = load_settings()
    with ExitStack() as closing:

        def later(close: Callable[[], None]) -> None:
            closing.callback(close)

        provider = make_language_provider(settings, later)
        assert provider is not None, "set llm.provider and llm.model"
        model = LanguageModelClient(provider, settings.llm)
        found = [(one, by_model(model, one, features[one.asked.question])) for one in asked[:most]]
    named = [(one, chosen) for one, chosen in found if chosen is not None]
    print(f"\n{model.name}: named a strategy for {len(named)} of {len(found)} questions")
    if not named:
        return
    agree = sum(one.chosen == chosen.chosen for one, chosen in named)
    print(f"of these it agrees with the rules in {agree}; as labelled, acceptable:")
    _print_share("the rules", [one for one, _ in named])
    _print_share("the model", [chosen for _, chosen in named])
    _print_share("the model, else the rules", [chosen or one for one, chosen in found])


def by_model(model: LanguageModelClient, one: Routed, features: Features) -> Routed | None:
    """What the model chooses; None where it names no strategy."""
    chosen = route_with_model(model, one.asked.question, features)
    return None if chosen.note else Routed(one.asked, chosen.strategy)


def print_speed(questions: Sequence[str]) -> None:
    """Microseconds a question, the wording read and all rules tried."""
    started = time.perf_counter()
    for question in questions:
        route(question, read_features(question))
    spent = time.perf_counter() - started
    print(f"\n{1e6 * spent / len(questions):.0f} µs a question")


if __name__ == "__main__":
    main()
