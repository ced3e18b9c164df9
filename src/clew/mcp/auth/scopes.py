"""The OAuth scopes of Clew, and the rights that they give."""

from __future__ import annotations

from typing import get_args

from clew.settings import Right

SCOPES: dict[str, Right] = {f"clew:{right}": right for right in get_args(Right)}
"""Rights by the name of their OAuth scope."""
READ = "clew:read"
"""The scope that every caller needs."""


def rights(scopes: list[str]) -> frozenset[Right]:
    """The rights that OAuth scopes give; scopes of others are none."""
    return frozenset(SCOPES[scope] for scope in scopes if scope in SCOPES)
