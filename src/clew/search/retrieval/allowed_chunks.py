"""The chunks that the filters of a question let through."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clew.ports import Store
    from clew.search.options import Options
    from clew.types import Ids


def allowed_chunks(store: Store, options: Options) -> Ids | None:
    """Chunks that pass every filter of the options; None where there is no filter."""
    found: list[Ids] = []
    if options.where:
        found.append(store.matching_chunks(options.where))
    if options.period is not None:
        found.append(store.chunks_within(options.period))
    if options.as_of is not None:
        found.append(store.chunks_as_of(options.as_of))
    return reduce(np.intersect1d, found) if found else None
