"""Documents that come ready split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Document


def check_pieces(document: Document) -> None:
    """Raise `InputError` where pieces overlap, are out of order, or do not fit the text."""
    at = 0
    for piece in document.pieces:
        if not at <= piece.start <= piece.end <= len(document.text):
            raise InputError(
                f"piece {piece.key!r} of {document.source!r} is [{piece.start}, {piece.end}):"
                f" expected a range within [{at}, {len(document.text)}), after the piece before it;"
                " give pieces in order, in code points, without overlap"
            )
        at = piece.end
