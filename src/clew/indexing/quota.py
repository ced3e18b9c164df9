"""How much a namespace may hold: it is measured no oftener than what is left demands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.settings import QuotaSettings

_BYTES_A_CHARACTER, _BYTES_A_DOCUMENT = 100, 20_000
"""More than a text takes up, with its names, words, vectors and all that is derived from it."""


class Quota:
    """What is left of a namespace's quota, for one who takes in one text after the other."""

    def __init__(self, settings: QuotaSettings, measured: Callable[[], int]) -> None:
        """`measured` gives the bytes that the namespace has."""
        self._settings, self._measured = settings, measured
        self._left = 0.0
        """Bytes that texts may take before it is measured again."""

    def reached(self, documents: int, text: str = "") -> str | None:
        """Why the namespace cannot have so many documents, or take in a text; None: it can."""
        most = self._settings
        if documents > most.documents:
            said = f"a namespace may have {most.documents} documents (the setting quota.documents)"
            return f"{said}; delete some or raise it"
        self._left -= _BYTES_A_CHARACTER * len(text) + _BYTES_A_DOCUMENT
        if self._left > 0:
            return None
        used = self._measured()
        self._left = 1e6 * most.megabytes - used
        if self._left > 0:
            return None
        return (
            f"the store has {used / 1e6:.1f} MB, and a namespace may have {most.megabytes:g} (the"
            " setting quota.megabytes); delete documents or raise it"
        )
