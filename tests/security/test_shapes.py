"""Hard texts are read, split and extracted in at most ten times the time of prose."""

from __future__ import annotations

import pytest

from benchmarks.shapes import MOST, PROSE, Task, measured
from tests.security.shapes import SHAPES

_PATIENCE = 30.0
"""Seconds for one text."""


@pytest.mark.parametrize(
    ("endings", "characters"),
    [((".md",), 20_000), ((".html", ".csv", ".py"), 10_000), (("?",), 2_000)],
)
def test_no_text_takes_ten_times_as_long_as_prose(
    endings: tuple[str, ...], characters: int
) -> None:
    """The benchmark of the same name does so with a million characters."""
    tasks = [(name, ending, characters) for ending in endings for name in (PROSE, *SHAPES)]
    slow = slow_among(tasks, endings, characters)
    # A text that a busy machine held up is not slow a second time.
    prose = [task for task in tasks if task[0] == PROSE]
    assert len(SHAPES) >= 40
    assert not (slow and slow_among([*prose, *slow], endings, characters))


def slow_among(tasks: list[Task], endings: tuple[str, ...], characters: int) -> list[Task]:
    """Tasks that take more than ten times as long as prose does, or do not end in time."""
    found = dict(measured(tasks, _PATIENCE))
    # Prose is hardly a table or code: of both, it takes what is most.
    basis = max(found[PROSE, ending, characters] or 0.0 for ending in endings)
    return [task for task, s in found.items() if s is None or s > MOST * basis]
