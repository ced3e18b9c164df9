"""Scores of different kinds on one scale, so that they can be added or compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST = 1e-6
"""Probabilities nearer to 0 or 1 than this are taken for this far: float32 knows no better."""


def min_max(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) 0 for the least, 1 for the greatest, in proportion between; 1 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    low, reach = values.min(), np.ptp(values)
    return (values - low) / reach if reach > 0 else np.ones(len(values))


def standard_units(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) standard deviations above the mean; 0 where all are equal."""
    values = scores.astype(np.float64)
    if not len(values):
        return values
    deviation = values.std()
    centred = values - values.mean()
    return centred / deviation if np.ptp(values) > 0 else np.zeros(len(values))


def log_odds(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """(n,) the logistic function undone: among many poor ones, one good would outweigh all else."""
    probability = np.clip(probabilities.astype(np.float64), _LEAST, 1 - _LEAST)
    return np.log(probability / (1 - probability))


def lead(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) how far each is ahead of the best of the others; below 0 where it is behind."""
    if len(values) < 2:
        return values
    second, first = np.partition(values, -2)[-2:]
    return values - np.where(values == first, second, first)
