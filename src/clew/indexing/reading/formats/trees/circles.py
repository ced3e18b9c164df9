"""Relations that lead from an element back to one that it hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SHOWN = 20
"""Elements of a circle that are named."""


def circles(after: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], list[str]]:
    """(from, to) of the edges that close a circle, each with the way from `to` to `from`.

    Without them no circle is left. Depth first, in the order of the mapping: linear in its edges.
    """
    found: dict[tuple[str, str], list[str]] = {}
    done: set[str] = set()
    for root in after:
        if root in done:
            continue
        way, place = [root], {root: 0}
        ahead = [iter(after[root])]
        while way:
            at = next(ahead[-1], None)
            if at is None:
                ahead.pop()
                done.add(way[-1])
                del place[way.pop()]
            elif at in place:
                found[way[-1], at] = _shown(way, place[at])
            elif at not in done:
                place[at] = len(way)
                way.append(at)
                ahead.append(iter(after.get(at, ())))
    return found


def _shown(way: Sequence[str], start: int) -> list[str]:
    if len(way) - start <= _SHOWN:
        return list(way[start:])
    return [*way[start : start + _SHOWN - 1], "…", way[-1]]
