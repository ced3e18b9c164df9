"""ZIP archives as chat apps hand out: Slack's, ChatGPT's, Claude's and WhatsApp's."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

from clew.errors import UnreadableError
from clew.indexing.reading.formats.chats.conversation import Conversation, read_result
from clew.indexing.reading.formats.chats.json_exports import conversations
from clew.indexing.reading.formats.chats.whatsapp import is_whatsapp, whatsapp
from clew.indexing.reading.formats.common import RawFile, ReadResult, check_limit
from clew.indexing.reading.formats.encoding import decode
from clew.types import Skipped

_CHATS = re.compile(
    r"(?:.{0,500}/)?(?:[^/]{1,200}/\d{4}-\d\d-\d\d\.json|conversations\.json|[^/]{0,200}chat[^/]{0,200}\.txt)",
    re.I,
)
_USERS = "users.json"
_FAULTS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError)


def read_zip_export(raw: RawFile) -> ReadResult:
    """The conversations of an export; parts that cannot be read are reported.

    Raises `UnreadableError` for an archive that is none, `LimitError` for one with too many parts
    or that unfolds to more than `max_megabytes`.
    """
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            return _read(raw, archive)
    except _FAULTS as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error


def _read(raw: RawFile, archive: zipfile.ZipFile) -> ReadResult:
    members = archive.infolist()
    check_limit(raw.limits, "members", len(members), raw.source)
    chats = [m for m in members if _CHATS.fullmatch(m.filename) and not m.is_dir()]
    users = [m for m in members if m.filename.rpartition("/")[2] == _USERS]
    unpacked = sum(member.file_size for member in (*chats, *users[:1]))
    if unpacked > raw.settings.max_megabytes * 1_000_000:
        raise raw.unreadable(f"unpacks to more than {raw.settings.max_megabytes:g} MB")
    named = _json(archive, users[0]) if users else None
    skipped: list[Skipped] = []
    found = list(_conversations(raw, archive, chats, named, skipped))
    if not found and not skipped:
        raise raw.unreadable("unsupported format (a ZIP archive that is no export of a chat)")
    return replace(read_result(raw, found), skipped=tuple(skipped))


def _conversations(
    raw: RawFile,
    archive: zipfile.ZipFile,
    chats: list[zipfile.ZipInfo],
    users: object,
    skipped: list[Skipped],
) -> Iterator[Conversation]:
    for member in chats:
        name = member.filename
        try:
            found = _parsed(raw, archive, member, users)
        except (UnreadableError, RecursionError, *_FAULTS) as error:
            reason = error.reason if isinstance(error, UnreadableError) else "malformed"
            skipped.append(Skipped(source=raw.record(name), reason=reason))
            continue
        stem = name.rpartition(".")[0]
        for one in found or ():
            yield replace(one, key=one.key or stem)


def _parsed(
    raw: RawFile, archive: zipfile.ZipFile, member: zipfile.ZipInfo, users: object
) -> list[Conversation] | None:
    if member.filename.lower().endswith(".json"):
        return conversations(_json(archive, member), member.filename, users)
    name = f"{raw.source.rpartition('.')[0]}/{member.filename}"
    part = RawFile(source=name, data=archive.read(member), settings=raw.settings, limits=raw.limits)
    text = decode(part)
    return whatsapp(text, name) if is_whatsapp(text) else None


def _json(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> object:
    return json.loads(archive.read(member))
