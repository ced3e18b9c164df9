"""How often `ask` is right without a language model, over folders of ordinary people's files.

    uv run python -m benchmarks.everyday [--folders allotment,clinic] [--kept-apart] [--fast] [-v]

Eight folders were written for it: notes, mail, chats, minutes, tables. `NAME.jsonl` has twenty
questions each, as their owner would ask them from memory. Four of the folders are for developing;
the others (`--kept-apart`) are to be opened when the work is done. An answer is right where an
accepted form stands in it, or where nothing is answered because no file says it; silence about
something that a file says is neither right nor wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

import clew

HERE = Path(__file__).parent
OPEN = ("allotment", "bandtour", "moving", "clinic")
KEPT_APART = ("thesis", "grandparents", "startup", "sailing")


def main() -> None:
    """Index each folder, ask, print shares by kind."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folders", help="default: the four for developing")
    parser.add_argument("--kept-apart", action="store_true")
    parser.add_argument("--fast", action="store_true", help="without the reader")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every answer")
    given = parser.parse_args()
    default = KEPT_APART if given.kept_apart else OPEN
    counts: Counter[tuple[str, str]] = Counter()
    found: list[tuple[bool, bool]] = []
    for name in given.folders.split(",") if given.folders else default:
        with tempfile.TemporaryDirectory() as store, clew.open(store=store) as engine:
            engine.index([HERE / name])
            for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines():
                asked = json.loads(line)
                if asked["gold"]:
                    hits = engine.search(asked["question"], limit=5, fast=given.fast).hits
                    files = [Path(hit.chunk.source.partition("#")[0]).name for hit in hits]
                    held = [file in asked["gold"] for file in files]
                    found.append((any(held[:1]), any(held)))
                answer = engine.ask(asked["question"], fast=given.fast)
                said = " ".join(one.text for one in answer.statements)
                verdict = judged(asked, said)
                counts[asked["kind"], verdict] += 1
                counts["all", verdict] += 1
                if given.verbose:
                    sure = answer.confidence or 0.0
                    print(f"{verdict:6} {sure:.2f} {asked['kind']:8} {asked['question']}")
                    print(f"       {asked['answers'][:2]} | {said[:160]!r}")
    kinds = dict.fromkeys(kind for kind, _ in counts)
    print("| kind | questions | right | wrong | silent |\n| --- | --- | --- | --- | --- |")
    for kind in sorted(kinds):
        size = sum(counts[kind, verdict] for verdict in ("right", "wrong", "silent"))
        shares = [100 * counts[kind, one] / size for one in ("right", "wrong", "silent")]
        print(f"| {kind} | {size} | " + " | ".join(f"{share:.0f}" for share in shares) + " |")
    first, in_five = (100 * sum(column) / len(found) for column in zip(*found, strict=True))
    print(f"a file that answers comes first for {first:.0f} %, in five for {in_five:.0f} %")


def judged(asked: dict[str, object], said: str) -> str:
    """Return `right`, `wrong` or `silent`."""
    answers = asked["answers"]
    assert isinstance(answers, list)
    if not said or not answers:
        return "silent" if answers else "wrong" if said else "right"
    held = [_holds(said, one) for one in answers]
    return "right" if (all(held) if asked.get("all") else any(held)) else "wrong"


def _holds(text: str, answer: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(answer.lower())}(?!\w)", text.lower()))


if __name__ == "__main__":
    main()
