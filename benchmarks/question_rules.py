"""What each rule of searching brings: it is left out, and questions are asked without it.

    uv run python -m benchmarks.question_rules FOLDER [--only NAME,NAME]

FOLDER is that of `benchmarks.real.fetch`; its store (`FOLDER.clew`) is asked as it is. The open
half of the questions of `benchmarks.real` is asked by `auto`. Counted are answers found first and
among five, answering sentences that hold what is sought, and questions of which a note says that
nothing answers them: those that indeed have no answer, and those that have one. Where nothing
changes, it may be that no question of the half is of that kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import clew
from benchmarks.real.__main__ import store_of
from benchmarks.real.asking import Answer, ask_all
from benchmarks.real.questions import Question, read_questions
from clew.search.pipeline import UNANSWERED
from clew.search.question import read_time
from clew.search.route import RULES
from clew.types import UNLIKELY

NO_PASSAGES = np.zeros(0, np.int64)
Off = Mapping[str, Any]
"""By `module:name` below `clew.search`: what stands in its place."""


def by_words(session: Any) -> Any:  # noqa: ANN401
    """The time that a question names, whatever the store's own dates are."""
    session.found_time = read_time(session.question, session.options.now)
    return session.found_time


GROUPS: Mapping[str, Off] = {
    "nothing": {},
    "spelling": {"pipeline:read_as_spelt": lambda session: session},
    "a month of the archive": {"pipeline:read_asked_time": by_words},
    "quotations": {"words:_quoting": lambda *_: iter(())},
    "look-ups are sure": {"pipeline:_be_sure": lambda *_: None},
    "all words of a look-up": {"pipeline:holding_all_first": lambda _, ranking: ranking},
    "documents by their exact names": {"words:_named": lambda *_: iter(())},
    "all that is named exactly": {"pipeline:exact_first": lambda _, found: found},
    "sections": {"pipeline:asked_sections": lambda _: NO_PASSAGES},
    "the second hop": {"ranker:find_second_hop": lambda *_: None},
    "what is so goes first": {
        "pipeline:by_standing": lambda _, found: (found, {}),
    },
    "what no passage says": {"pipeline:without_unsaid": lambda _, hits: hits},
    "passages that say the same": {"answer.hits:says_as_much": lambda *_: False},
    "the newest of things alike": {"periods:_newest_first": lambda _, found: found},
    "all kinds of questions": {"route:RULES": {}},
    **{
        f"kind of question: {kind}": {
            "route:RULES": {k: rule for k, rule in RULES.items() if k != kind}
        }
        for kind in RULES
    },
}


def main() -> None:
    """Ask without each group in turn, and print a row of a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="names of groups, with commas between them")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(GROUPS)
    questions = [question for question in read_questions() if not question.held_out]
    print("| left out | first | among five | sentence | none told | told wrongly |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        print(f"| {name} | {' | '.join(map(str, counted(given.folder, questions, name)))} |")


def counted(folder: Path, questions: list[Question], name: str) -> list[int]:
    """The figures without a group; a store is opened for each, since it remembers its answers."""
    with ExitStack() as stack:
        for at, instead in GROUPS[name].items():
            stack.enter_context(left_out(at, instead))
        engine = stack.enter_context(clew.open(store_of(folder)))
        answers = ask_all(engine, folder, questions, ["auto"])
    sought = [answer for answer in answers if answer.question.gold]
    return [
        sum(answer.first for answer in sought),
        sum(answer.five for answer in sought),
        sum(answer.marked is True for answer in sought),
        sum(told(answer) for answer in answers if not answer.question.gold),
        sum(map(told, sought)),
    ]


def told(answer: Answer) -> bool:
    """Whether a note says that nothing, or hardly anything, answers."""
    return not {UNANSWERED, UNLIKELY}.isdisjoint(answer.notes)


@contextmanager
def left_out(at: str, instead: Callable[..., Any]) -> Iterator[None]:
    """Something of `clew.search` replaced for a while."""
    module, _, name = at.partition(":")
    holder = import_module(f"clew.search.{module}")
    kept = getattr(holder, name)
    setattr(holder, name, instead)
    try:
        yield
    finally:
        setattr(holder, name, kept)


if __name__ == "__main__":
    main()
