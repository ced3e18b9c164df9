"""Putting parts together for a reader: numbered, whole where possible, within a token budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from clew.text import one_line, quoted
from clew.types import Context, ContextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.search.answer.blocks import Block, Form

GIVE_UP_AFTER = 3
"""Parts in a row that do not fit before the rest is left out unseen."""
_MEASURED = 999
"""Number that parts are measured with, before they have their own."""
BREAK_TOKENS = 2
"""What the empty line between two parts costs, at most."""


class _Chosen(NamedTuple):
    block: Block
    form: Form
    tokens: int
    """What it costs in its place, at most."""


def assemble(
    blocks: Sequence[Block],
    max_tokens: int,
    count_tokens: Callable[[str], int],
    tokenizer: str = "",
) -> Context:
    """As many blocks as fit, chosen in the order given, each in the first of its forms that fits.

    Those that fit in none are left out and counted. `tokens` never exceeds `max_tokens`.

    A part is a line of its heading, `[1] Title`, and its text, every line of it quoted; parts stand
    apart by an empty line. So no text can pass for the end of its part or for another part.
    """
    chosen, tokens = _choose(blocks, max_tokens, count_tokens)
    chosen.sort(key=lambda part: part.block.place)
    parts = tuple(_parts(chosen))
    return Context(
        text="\n\n".join(part.text for part in parts),
        citations=tuple(citation for part in parts for citation in part.citations),
        tokens=tokens,
        left_out=len(blocks) - len(chosen),
        tokenizer=tokenizer,
        parts=parts,
    )


def _parts(chosen: Sequence[_Chosen]) -> Iterator[ContextPart]:
    """What was chosen, numbered; the first part of a group stands under the group's heading."""
    groups, number = {""}, 0
    for block, form, tokens in chosen:
        number += bool(form.citations)
        text = _render(block, form, number)
        if block.group not in groups:
            groups.add(block.group)
            text = f"{_group_heading(block)}\n\n{text}"
        citations = tuple(replace(citation, number=number) for citation in form.citations)
        yield ContextPart(kind=block.kind, text=text, tokens=tokens, citations=citations)


def _choose(
    blocks: Sequence[Block], max_tokens: int, count_tokens: Callable[[str], int]
) -> tuple[list[_Chosen], int]:
    chosen: list[_Chosen] = []
    groups = {""}
    tokens = misses = 0
    for block in blocks:
        if misses >= GIVE_UP_AFTER:
            break
        heading = 0
        if block.group not in groups:
            heading = count_tokens(_group_heading(block)) + BREAK_TOKENS
        for form in block.forms:
            cost = heading + count_tokens(_render(block, form, _MEASURED))
            cost += BREAK_TOKENS if chosen else 0
            if tokens + cost <= max_tokens:
                chosen.append(_Chosen(block, form, cost))
                groups.add(block.group)
                tokens += cost
                misses = 0
                break
        else:
            misses += 1
    return chosen, tokens


def _group_heading(block: Block) -> str:
    return f"## {block.group}"


def _render(block: Block, form: Form, number: int) -> str:
    """A part that cites nothing has no number."""
    mark = f"[{number}] " if form.citations else ""
    return f"{mark}{one_line(block.heading)}\n{quoted(form.text)}"
