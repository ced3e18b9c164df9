"""Places of nodes until `clew.graph` computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 60


def layout(
    size: int, edges: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(size, 2) places, -1 to 1: edges (m, 2) pull by their weights, all nodes push apart."""
    turn = np.arange(size) * 2.399963
    places = np.sqrt((np.arange(size) + 0.5) / max(size, 1))[:, None] * np.stack(
        [np.cos(turn), np.sin(turn)], axis=1
    )
    if size > 1500:
        return places
    ideal = 1 / np.sqrt(max(size, 1))
    for step in range(ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum((apart**2).sum(axis=2), 1e-6)
        force = (apart * (ideal**2 / distance)[:, :, None]).sum(axis=1)
        along = places[edges[:, 1]] - places[edges[:, 0]]
        pull = along * (weights * np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.add.at(force, edges[:, 0], pull)
        np.add.at(force, edges[:, 1], -pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / length * np.minimum(length, 0.2 * (1 - step / ROUNDS))
    return places / max(float(np.abs(places).max(initial=0.0)), 1e-9)
