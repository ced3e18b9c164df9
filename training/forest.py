"""From a LightGBM model to the arrays of `clew.search.ranker.Forest`, and to its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clew.search.features import FEATURES
from clew.search.ranker import ALL_FEATURES, Forest, Ranker

if TYPE_CHECKING:
    from lightgbm import Booster

MAX_LEAVES = 64
"""Bits of a node's mask."""
ALL = (1 << MAX_LEAVES) - 1


@dataclass(frozen=True, slots=True)
class Node:
    """A test, and the leaves that remain where it fails."""

    feature: int
    threshold: float
    kept: int


def to_forest(boosters: Sequence[Booster]) -> Forest:
    """The mean of the models' scores as one forest."""
    trees = [
        _flatten(tree["tree_structure"])
        for booster in boosters
        for tree in booster.dump_model()["tree_info"]
    ]
    most_nodes = max(1, *(len(nodes) for nodes, _ in trees))
    most_leaves = max(len(values) for _, values in trees)
    # What pads a tree passes every test and is never a leaf that is reached.
    features = np.zeros((len(trees), most_nodes), np.int16)
    thresholds = np.full(features.shape, np.inf, np.float32)
    kept = np.full(features.shape, ALL, np.uint64)
    values = np.zeros((len(trees), most_leaves), np.float32)
    for row, (nodes, leaves) in enumerate(trees):
        for place, node in enumerate(nodes):
            features[row, place] = node.feature
            thresholds[row, place] = _down(node.threshold)
            kept[row, place] = node.kept
        values[row, : len(leaves)] = np.array(leaves) / len(boosters)
    return Forest(features, thresholds, kept.astype(_mask_type(most_leaves)), values)


def _mask_type(leaves: int) -> np.dtype[np.unsignedinteger]:
    """The smallest that has a bit for each leaf."""
    sizes = (np.uint8, np.uint16, np.uint32, np.uint64)
    return next(np.dtype(size) for size in sizes if np.iinfo(size).bits >= leaves)


def _down(threshold: float) -> np.float32:
    """The highest float32 that is not above: float32 values pass the same test."""
    rounded = np.float32(threshold)
    return rounded if float(rounded) <= threshold else np.nextafter(rounded, np.float32(-np.inf))


def _flatten(root: Mapping[str, Any]) -> tuple[list[Node], list[float]]:
    """Nodes, and leaves from left to right."""
    nodes: list[Node] = []
    values = list(_leaves(root))
    if len(values) > MAX_LEAVES:
        raise ValueError(f"a tree has {len(values)} leaves; expected at most {MAX_LEAVES}")
    _add_nodes(root, 0, nodes)
    return nodes, values


def _leaves(tree: Mapping[str, Any]) -> Iterator[float]:
    if "leaf_value" in tree:
        yield float(tree["leaf_value"])
        return
    yield from _leaves(tree["left_child"])
    yield from _leaves(tree["right_child"])


def _add_nodes(tree: Mapping[str, Any], first: int, nodes: list[Node]) -> int:
    """Add the tree's nodes, whose leftmost leaf has the number `first`; how many leaves it has."""
    if "leaf_value" in tree:
        return 1
    if tree["decision_type"] != "<=":
        raise ValueError(f"a node tests by {tree['decision_type']!r}; expected '<='")
    left = _add_nodes(tree["left_child"], first, nodes)
    struck = ((1 << left) - 1) << first
    nodes.append(Node(int(tree["split_feature"]), float(tree["threshold"]), ALL & ~struck))
    return left + _add_nodes(tree["right_child"], first + left, nodes)


def save_ranker(ranker: Ranker, path: Path) -> None:
    """Write the ranker with the names of its features; equal rankers make equal files."""
    arrays = {
        "first_names": np.array(FEATURES),
        "second_names": np.array(ALL_FEATURES),
        "calibration": ranker.calibration,
        "trained_on": np.array(sorted(ranker.trained_on), dtype=np.str_),
        **_columns("first", ranker.first),
        **_columns("second", ranker.second),
        **_columns("confidence", ranker.confidence),
    }
    np.savez_compressed(path, allow_pickle=False, **arrays)


def _columns(prefix: str, forest: Forest) -> dict[str, NDArray[np.generic]]:
    return {f"{prefix}_{field.name}": getattr(forest, field.name) for field in fields(Forest)}
