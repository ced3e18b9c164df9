"""Which namespaces a call may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.tools.spec import Call


def own_namespaces(call: Call, namespaces: Sequence[str]) -> Sequence[str]:
    """Namespaces that the caller may name; another's is an error, whether it exists or not."""
    yours = call.caller.namespaces or (call.engine.settings.namespace,)
    for name in namespaces:
        if name not in yours:
            raise NotFoundError(f"no namespace {name!r} of yours; yours are {', '.join(yours)}")
    return namespaces
