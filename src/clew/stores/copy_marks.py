"""What targets of copies share: the mark of an unfinished one, and what is new in a whole one.

Nobody but `clew copy` opens a store that holds a mark.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path

from clew.errors import StoreCorruptError, StoreError
from clew.ports.copying import Header, Mark, Place

NOT_BEGUN = ""
"""In place of the mark, where a target has been made and nothing is copied yet."""


def folder_place(folder: Path) -> Place:
    """The place of a store in a folder: that of a namespace in a folder of stores."""
    whole = folder.resolve()
    return Place(str(whole.parent), whole.name)


def mark_to_text(mark: Mark) -> str:
    """JSON that `mark_from_text` reads."""
    return json.dumps(asdict(mark), ensure_ascii=False)


def mark_from_text(text: str | None) -> Mark | None:
    """The mark that a store holds; None for none, and where nothing was copied yet.

    Raises `StoreCorruptError` for one that cannot be read.
    """
    if text in (None, NOT_BEGUN):
        return None
    try:
        values = json.loads(text)
        after = values.pop("after")
        source = Place(*values.pop("source"))
        return Mark(source=source, after=None if after is None else tuple(after), **values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreCorruptError(
            f"the store is an unfinished copy, whose mark {text!r} is damaged; delete its folder"
            " and copy again"
        ) from error


def refuse_unfinished(text: str | None, target: Place) -> None:
    """Raise `StoreError` where a store holds the mark of an unfinished copy."""
    if text == NOT_BEGUN:
        raise StoreError(
            f"the store {target} is a copy that was interrupted before it began; repeat the"
            " `clew copy` that was to fill it, or delete it"
        )
    mark = mark_from_text(text)
    if mark is not None:
        raise StoreError(
            f"the store {target} is an unfinished copy of {mark.source}; finish it with"
            f" `{copy_command(mark.source, target)}`"
        )


def copy_command(source: Place, target: Place) -> str:
    """The command line that copies one store to another."""
    named = ["--namespace", source.namespace] if source.namespace != "default" else []
    if target.namespace != source.namespace:
        named += ["--to-namespace", target.namespace]
    return shlex.join(["clew", "copy", "--from", source.store, "--to", target.store, *named])


def written_meanwhile(target: Place) -> StoreError:
    """The error where a target has another generation than a moment ago."""
    return StoreError(
        f"something else has just written to the store {target}; copy to another place, or to"
        " another name there with --to-namespace"
    )


def copied_twice(target: Place) -> StoreError:
    """The error where the mark is not the one that this process wrote."""
    return StoreError(f"another process copies into the store {target}, too; let that one finish")


def built_in_copy(header: Header, generation: int) -> int | None:
    """What a copy of that generation says of when its communities were made; None for never."""
    if header.communities < 0:
        return None
    return generation if header.communities == header.generation else header.communities
