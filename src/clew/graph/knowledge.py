"""What people are shown of the graph: entities that something vouches for, and facts, counted.

What is only written like a name, a term, ties passages like any entity; where entities are
listed, drawn, suggested or summarised, terms are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clew.types import TERM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from clew.stores.store import Store
    from clew.types import Ids, Relation


def is_known(store: Store, entity_ids: Ids) -> NDArray[np.bool_]:
    """Return for each entity whether it is more than a term: (N,) of (N,) ids."""
    return ~np.isin(entity_ids, store.entities_of_type(TERM))


def distinct_facts(
    relations: Sequence[Relation], moment: datetime | None = None
) -> list[tuple[Relation, int]]:
    """Return each fact of two entities once for each of its periods, with how often it is said.

    Facts that hold at the moment come first, where one is given; else the order stays. A statement
    without a time counts for the period that is open. What was stated by hand stands for what
    texts say of the same fact.
    """
    facts: dict[tuple[int, str, int], list[Relation]] = {}
    for one in relations:
        if one.from_entity_id == one.to_entity_id:
            continue  # two names that became one
        facts.setdefault(one.fact, []).append(one)
    found: list[tuple[Relation, int]] = []
    for said in facts.values():
        by_hand = [one for one in said if one.extractor == "manual"]
        # Open with a beginning, else open, else ended.
        best = min(
            by_hand or said, key=lambda one: (one.valid_until is not None, not one.valid_from)
        )
        periods: dict[object, list[Relation]] = {}
        for one in said:
            is_dated = bool(one.valid_from or one.valid_until)
            period = one if is_dated and (one in by_hand or not by_hand) else best
            periods.setdefault((period.valid_from, period.valid_until), []).append(one)
        found += [(best if best in same else same[0], len(same)) for same in periods.values()]
    if moment is None:
        return found
    return sorted(found, key=lambda one: one[0].standing(moment).state != "current")
