"""What a request is about: who asks, of which namespace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.mcp.resources import Place


@dataclass(slots=True)
class RequestContext:
    """The request that is served now."""

    place: Place
    seen: dict[str, str] = field(default_factory=dict)
    """Digests by address of what it subscribes to, taken before it is told that it does."""
