"""One answer out of those of several collections."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from clew.search.answer.blocks import BREAK_TOKENS
from clew.search.answer.standing import answering_line
from clew.search.retrieval.channels import RRF_K
from clew.types import Context, SearchResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.types import ContextPart


def fuse_collections(
    results: Mapping[str, SearchResult],
    *,
    limit: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> SearchResult:
    """The answers to one question by namespace, fused by reciprocal rank.

    Their scores cannot be compared, their ranks can: the first of each come first, of these the
    surest, else the one of the highest score. Each hit and each part of the context says where it
    is from.
    """
    ranked = [
        ((rank, -(hit.confidence or 0.0), -hit.score, name), hit)
        for name, result in results.items()
        for rank, hit in enumerate(result.hits, 1)
    ]
    ranked.sort(key=lambda one: one[0])
    hits = tuple(
        replace(hit, score=1 / (RRF_K + rank), namespace=name)
        for (rank, _, _, name), hit in ranked[:limit]
    )
    in_order = dict.fromkeys([name for (*_, name), _ in ranked] + list(results))
    best = hits[0].namespace if hits else next(iter(results))
    timings = sum((Counter(result.timings_ms) for result in results.values()), Counter[str]())
    # What is noted of all collections once, of some with their names.
    places: dict[str, list[str]] = {}
    for name, result in results.items():
        for note in result.notes:
            places.setdefault(note, []).append(name)
    fused = replace(
        results[best],
        strategy=" and ".join(dict.fromkeys([result.strategy for result in results.values()])),
        reason="; ".join(f"{name}: {result.reason}" for name, result in results.items()),
        hits=hits,
        context=_fused_context(
            {name: results[name] for name in in_order}, max_tokens, count_tokens
        ),
        entities=tuple(dict.fromkeys(chain(*(result.entities for result in results.values())))),
        stated=tuple(dict.fromkeys(chain(*(result.stated for result in results.values())))),
        timings_ms=dict(timings),
        notes=tuple(
            note if len(names) == len(results) else f"{', '.join(names)}: {note}"
            for note, names in places.items()
        ),
    )
    return replace(fused, answering=answering_line(fused))


def _fused_context(
    results: Mapping[str, SearchResult], max_tokens: int, count_tokens: Callable[[str], int]
) -> Context:
    """The parts of all contexts in turn, as many as fit, numbered anew."""
    in_turn = zip_longest(*([(n, p) for p in r.context.parts] for n, r in results.items()))
    offered = [one for turn in in_turn for one in turn if one is not None]
    parts: list[ContextPart] = []
    tokens = number = 0
    for name, part in offered:
        shown = _renumbered(part, number + bool(part.citations), name)
        cost = count_tokens(shown.text) + BREAK_TOKENS
        if tokens + cost <= max_tokens:
            number += bool(part.citations)
            parts.append(replace(shown, tokens=cost))
            tokens += cost
    first = next(iter(results.values())).context
    left_out = sum(result.context.left_out for result in results.values())
    return Context(
        text="\n\n".join(part.text for part in parts),
        citations=tuple(citation for part in parts for citation in part.citations),
        tokens=tokens,
        left_out=left_out + len(offered) - len(parts),
        tokenizer=first.tokenizer,
        parts=tuple(parts),
    )


def _renumbered(part: ContextPart, number: int, namespace: str) -> ContextPart:
    """A part under another number, its heading with where it is from.

    The line of the heading is the first that is no heading of a group: no quoted line begins so.
    """
    old = f"[{part.citations[0].number}] " if part.citations else ""
    new = f"[{number}] " if part.citations else ""
    lines = part.text.split("\n")
    at = next(n for n, line in enumerate(lines) if line and not line.startswith("## "))
    lines[at] = f"{new}{namespace}: {lines[at].removeprefix(old)}"
    citations = tuple(replace(citation, number=number) for citation in part.citations)
    return replace(part, text="\n".join(lines), citations=citations)
