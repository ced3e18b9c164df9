"""The questions of a pack, asked over its own corpus."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import clew
from clew.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from clew.hookspecs import Pack
    from clew.settings import Settings
    from clew.types import Hit

FIRST = 3
"""Passages among which an answer counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question and what came back."""

    question: str
    gold: tuple[str, ...]
    """Titles, or ends of sources, of which any one answers."""
    found: tuple[str, ...]
    """Titles of the first passages, best first."""
    strategy: str
    answered: bool


def ask_questions(pack: Pack, settings: Settings) -> list[Asked]:
    """Index the folder `corpus` beside the pack's questions into a store of its own, and ask.

    Raises `InputError` where the pack has no questions, or the corpus cannot be read whole.
    """
    if pack.questions is None:
        raise InputError(f"the pack {pack.name!r} has no questions; name a file of them in it")
    questions = list(_questions(pack.questions))
    corpus = pack.questions.parent / "corpus"
    with tempfile.TemporaryDirectory(prefix="clew-pack-") as folder:
        there = {"store": folder, "namespace": "default"}
        own = clew.load_settings(**{**settings.model_dump(), **there})
        with clew.open(settings=own, packs=[pack.name]) as store:
            for skipped in store.index([corpus]).skipped:
                raise InputError(f"{skipped.source!r} cannot be read: {skipped.reason}")
            return [_asked(store, question, gold) for question, gold in questions]


def _questions(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    lines = path.read_text("utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            one = json.loads(line)
            found.append((str(one["question"]), tuple(map(str, one["gold"]))))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path.name}, line {number} cannot be used ({error!r}); expected an object such as"
                ' {"question": "…", "gold": ["title"]}'
            ) from error
    return found


def _asked(store: clew.Clew, question: str, gold: tuple[str, ...]) -> Asked:
    result = store.search(question, limit=FIRST)
    return Asked(
        question=question,
        gold=gold,
        found=tuple(hit.chunk.title for hit in result.hits),
        strategy=result.strategy,
        answered=any(_is_gold(hit, gold) for hit in result.hits),
    )


def _is_gold(hit: Hit, gold: tuple[str, ...]) -> bool:
    return hit.chunk.title in gold or hit.chunk.source.endswith(gold)
