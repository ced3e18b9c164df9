"""Dates and periods as texts and questions word them; calendar-true, in UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from clew.types import Metadata, Period


def read_period(name: str) -> Period | None:
    """The period that a date's name means ("7 May 2023", "the 1990s"); None for what is none."""
    raise NotImplementedError


def written_at(metadata: Metadata, created_at: datetime | None) -> datetime | None:
    """When a text with this metadata was written, in UTC; None where nothing says so."""
    raise NotImplementedError
