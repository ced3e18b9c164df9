"""Measure retrieval on data sets in the BEIR layout; needs the extra `clew[eval]`."""

from __future__ import annotations

from clew.evaluation.answers import estimate_answers, evaluate_answers, to_answers_table, to_page
from clew.evaluation.beir import BeirDataset, is_beir, load_beir
from clew.evaluation.run import DEFAULT_KS, evaluate, measure_strategy, notes, to_markdown, to_table

__all__ = [
    "DEFAULT_KS",
    "BeirDataset",
    "estimate_answers",
    "evaluate",
    "evaluate_answers",
    "is_beir",
    "load_beir",
    "measure_strategy",
    "notes",
    "to_answers_table",
    "to_markdown",
    "to_page",
    "to_table",
]
