"""Files packed with gzip, as Debian packs its documentation."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import PurePosixPath

from clew.indexing.reading.formats.common import RawFile

SUFFIX = ".gz"


def unpacked(raw: RawFile) -> RawFile:
    """What a file of gzip holds, under its name without the ending.

    Raises `UnreadableError` where it is malformed or unpacks to more than a file may have.
    """
    limit = int(raw.settings.max_megabytes * 1_000_000)
    try:
        with gzip.open(BytesIO(raw.data)) as packed:
            data = packed.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise raw.unreadable("malformed (not gzip)") from error
    if len(data) > limit:
        raise raw.unreadable(f"unpacks to more than {raw.settings.max_megabytes:g} MB")
    return replace(raw, data=data, path=None, name=PurePosixPath(raw.name or raw.source).stem)
