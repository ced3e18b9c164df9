"""What a field of an element says, as text or as a number."""

from __future__ import annotations

from typing import Any

from clew.text import one_line


def field_text(value: object) -> str:
    """The text of a field: of a list of messages each on a line, with who said it."""
    if not isinstance(value, list):
        return str(value).strip()
    return "\n".join(map(_said, value))


def _said(message: object) -> str:
    if not isinstance(message, dict):
        return one_line(str(message))
    author = message.get("role") or message.get("author")
    words = one_line(str(message.get("text") or message.get("content") or ""))
    return f"{author}: {words}" if author else words


def number_or_text(text: str) -> Any:  # noqa: ANN401 - a number or a text
    """A number where the text is one."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text
