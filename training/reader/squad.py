"""SQuAD 1.1's training questions, each with the paragraphs of its article that stand in its way.

    python -m training.reader.squad train-v1.1.json BENCH DATA/squad_train.jsonl.gz

What a data set below BENCH holds, too, is left out: sets kept for measuring take their paragraphs
from the same articles.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

WRONG = 3
"""Paragraphs of the article that share most with a question, and do not say its answer."""
RUN = 12
"""Words in a row that two texts share only where one is taken from the other."""


def main() -> None:
    """Write a record a question."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("squad", type=Path)
    parser.add_argument("bench", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    measured = {run for path in given.bench.rglob("corpus.jsonl") for run in _runs_of(path)}
    written = left_out = 0
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        for article in json.loads(given.squad.read_text("utf-8"))["data"]:
            known = [one for one in article["paragraphs"] if not measured & runs(one["context"])]
            left_out += len(article["paragraphs"]) - len(known)
            title = article["title"].replace("_", " ")
            for record in records(title, known):
                out.write(json.dumps(record) + "\n")
                written += 1
    print(f"{written} questions; {left_out} paragraphs that a measured set holds, too, left out")


def records(title: str, paragraphs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the questions of an article, as `training.reader.examples` reads them."""
    texts = [one["context"] for one in paragraphs]
    said = [set(_words(text)) for text in texts]
    spread = Counter(word for words in said for word in words)
    for at, paragraph in enumerate(paragraphs):
        for asked in paragraph["qas"]:
            answers = sorted({one["text"] for one in asked["answers"]})
            words = set(_words(asked["question"]))
            others = [
                (sum(log(1 + len(texts) / spread[word]) for word in words & said[n]), text)
                for n, text in enumerate(texts)
                if n != at and not any(one.lower() in text.lower() for one in answers)
            ]
            others.sort(key=lambda one: -one[0])
            yield {
                "id": asked["id"],
                "question": asked["question"].strip(),
                "answers": answers,
                "answerable": True,
                "positives": [{"title": title, "text": texts[at]}],
                "negatives": [{"title": title, "text": text} for _, text in others[:WRONG]],
            }


def runs(text: str) -> set[int]:
    """Return the runs of `RUN` words, hashed."""
    words = _words(text)
    return {hash(tuple(words[n : n + RUN])) for n in range(len(words) - RUN + 1)}


def _runs_of(corpus: Path) -> Iterator[int]:
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            yield from runs(json.loads(line)["text"])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


if __name__ == "__main__":
    main()
