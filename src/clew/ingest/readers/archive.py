"""Office files are ZIP archives: what they unpack to is bounded before anything unpacks them."""

from __future__ import annotations

import zipfile
from io import BytesIO

from clew.ingest.readers.common import RawFile

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of the container that Office used before ZIP."""

_UNPACKED_FACTOR = 10


def check_archive(raw: RawFile) -> None:
    """Raise `UnreadableError` unless the file is a ZIP archive of a bearable size."""
    if raw.data.startswith(
        OLE_MAGIC
    ):  # Office wraps a file with a password into its older container
        raise raw.unreadable("encrypted")
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error
    limit = raw.settings.max_megabytes * _UNPACKED_FACTOR
    if unpacked > limit * 1_000_000:
        raise raw.unreadable(f"unpacks to more than {limit:g} MB")
