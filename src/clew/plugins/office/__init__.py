"""Office: slides, sheets, Outlook's messages and electronic books, by the extra `office`."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl

_READ = "clew.plugins.office.reading:read_office"


@hookimpl
def readers() -> Mapping[str, str]:
    """See `Hooks`."""
    return dict.fromkeys((".pptx", ".xlsx", ".xls", ".msg", ".epub"), _READ)
