"""Calendar, contacts and tasks, beside the mail and the notes that every store reads."""

from __future__ import annotations

from clew.packs.pack import EntityType, Field, Pack

PACK = Pack(
    name="personal",
    title="Calendar, contacts and tasks",
    entity_types=(EntityType(name="event", fields=(Field(name="start", kind="time"),)),),
)
