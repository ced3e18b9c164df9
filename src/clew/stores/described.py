"""Reading what a language model says of something, beside that thing itself."""

from __future__ import annotations

import json
from typing import Any

from clew.types import Description


def read_described(value: str | list[Any] | None) -> tuple[str, Description | None]:
    """Title and description from the column `statements.enrichments.described`."""
    if value is None:
        return "", None
    title, text, sources = json.loads(value) if isinstance(value, str) else value
    said = Description(text=text, sources=tuple(json.loads(sources))) if text else None
    return title, said
