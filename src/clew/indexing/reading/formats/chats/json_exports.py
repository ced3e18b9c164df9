"""Which chat a JSON value is an export of, by its shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from clew.indexing.access import open_real
from clew.indexing.reading.formats.chats.assistants import chatgpt, claude
from clew.indexing.reading.formats.chats.conversation import Conversation, read_result
from clew.indexing.reading.formats.chats.discord import discord
from clew.indexing.reading.formats.chats.slack import is_slack, slack
from clew.indexing.reading.formats.common import RawFile, ReadResult

_SLACK_LISTS = {"users.json", "channels.json", "groups.json", "dms.json", "mpims.json"}
_LOOKED_AT = 20
"""Items of a list by which it is recognised."""


def read_chat(raw: RawFile, value: object) -> ReadResult | None:
    """The documents of an export; None where the value is none.

    Raises `UnreadableError` for the lists of people and channels of an unpacked Slack export: they
    name what the messages hold, and alone they are identifiers.
    """
    if _is_slack_list(raw, value):
        raise raw.unreadable("a list of a Slack export, which its messages are read with")
    users = None
    if isinstance(value, list) and value and is_slack(value[:_LOOKED_AT]):
        users = _users_beside(raw)
    found = conversations(value, raw.source, users)
    return None if found is None else read_result(raw, found)


def _is_slack_list(raw: RawFile, value: object) -> bool:
    """Whether a file is `users.json`, `channels.json` or such of an unpacked Slack export."""
    if raw.path is None or raw.path.name not in _SLACK_LISTS or not isinstance(value, list):
        return False
    # Files of these names may be anybody's: what stands in them and beside them decides.
    if not all((raw.path.parent / name).is_file() for name in ("channels.json", "users.json")):
        return False
    return all(
        isinstance(item, dict)
        and isinstance(item.get("id"), str)
        and (isinstance(item.get("members"), list) or isinstance(item.get("profile"), dict))
        for item in value[:_LOOKED_AT]
    )


def _users_beside(raw: RawFile) -> object:
    """What `users.json` says, which lies above the folders of the channels, with their list."""
    if raw.path is None:
        return None
    export = raw.path.parent.parent
    # Nothing outside of the file's folder is read but what shows itself as the same export.
    if not (export / "channels.json").is_file():
        return None
    file = export / "users.json"
    with suppress(OSError, ValueError, RecursionError), open_real(file) as opened:
        limit = int(raw.settings.max_megabytes * 1_000_000)
        return json.loads(opened.read(limit))
    return None


def conversations(value: object, name: str, users: object = None) -> list[Conversation] | None:
    """The conversations of an export; None where the value is none.

    `name` is the file's path, `users` what a Slack export's `users.json` holds.
    """
    if isinstance(value, dict):
        return discord(value) if _is_discord(value) else _assistants([value])
    if not isinstance(value, list) or not value:
        return None
    if is_slack(value[:_LOOKED_AT]):
        return slack(value, name, users)
    return _assistants(value)


def _is_discord(value: dict[str, Any]) -> bool:
    parts = value.get("guild"), value.get("channel"), value.get("messages")
    return isinstance(parts[0], dict) and isinstance(parts[1], dict) and isinstance(parts[2], list)


def _assistants(value: Sequence[object]) -> list[Conversation] | None:
    """Conversations with an assistant; each of the first items must look like one."""
    records = [item for item in value if isinstance(item, dict)]
    first = records[:_LOOKED_AT]
    if len(records) != len(value):
        return None
    if all(isinstance(one.get("mapping"), dict) and "title" in one for one in first):
        return [chatgpt(one, i) for i, one in enumerate(records, 1)]
    if all(isinstance(one.get("chat_messages"), list) for one in first):
        return [claude(one, i) for i, one in enumerate(records, 1)]
    return None
