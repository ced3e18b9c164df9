"""Calendars and contacts, which every store reads, and the pack with their tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.hookspecs import hookimpl

_CALENDAR, _CONTACTS = "clew.plugins.personal.calendar", "clew.plugins.personal.contacts"


@hookimpl
def readers() -> Mapping[str, str]:
    """See `Hooks`."""
    return {
        **dict.fromkeys((".ics", ".ical", ".ifb"), f"{_CALENDAR}:read_calendar"),
        **dict.fromkeys((".vcf", ".vcard"), f"{_CONTACTS}:read_contacts"),
    }


@hookimpl
def structures() -> Sequence[str]:
    """See `Hooks`."""
    return ["clew.plugins.personal.pack:personal_structure"]


@hookimpl
def packs() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"personal": "clew.plugins.personal.pack:PACK"}
