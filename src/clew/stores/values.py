"""Values as stores keep them: times as text in UTC, which compare as text; text that is Unicode."""

from __future__ import annotations

from datetime import UTC, datetime

from clew.errors import InputError


def to_text(time: datetime | None) -> str | None:
    """ISO 8601 in UTC; a time without a zone is taken for UTC."""
    if time is None:
        return None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat()


def to_time(text: str | None) -> datetime | None:
    """The time that `to_text` wrote."""
    return None if text is None else datetime.fromisoformat(text)


def now() -> str:
    """This moment, as it is stored."""
    return datetime.now(UTC).isoformat()


def half_character(error: UnicodeEncodeError) -> InputError:
    """The error that names what no store can keep: half of a surrogate pair."""
    return InputError(
        f"a text holds {error.object[error.start : error.end]!r}, which is half a character"
        " and cannot be stored; expected valid Unicode: mend the text or rename the file"
    )
