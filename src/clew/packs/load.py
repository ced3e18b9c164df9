"""Finding packs: those that ship, those that other packages bring, those in folders of the user's.

Loading a pack runs its code. So a store records names alone, and folders of packs are named by who
runs Clew (`CLEW_PACKS__FOLDERS`), never by a store or by a file that lies beside one.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PurePath
from types import ModuleType

import clew.packs
from clew.errors import InputError, NotFoundError
from clew.packs.pack import Pack

GROUP = "clew.packs"
"""The group of entry points; each names a `Pack`: `garden = "my_package.garden:PACK"`."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def available(folders: Sequence[Path]) -> list[str]:
    """Names of all packs that can be loaded, sorted."""
    found = {*_built_in(), *(point.name for point in entry_points(group=GROUP))}
    found.update(name for name, _ in _in_folders(folders))
    return sorted(name for name in found if _NAME.fullmatch(name))


def load(name: str, folders: Sequence[Path]) -> Pack:
    """The pack of a name. Raises `NotFoundError` for none, `InputError` for one that is no pack."""
    if _NAME.fullmatch(name):
        for module, attribute in _places(name, folders):
            pack = getattr(module, attribute, None)
            if not isinstance(pack, Pack) or pack.name != name:
                raise InputError(
                    f"{module.__name__}:{attribute} is no pack named {name!r} ({pack!r:.80});"
                    f" expected a clew.packs.pack.Pack with name={name!r}"
                )
            return pack
    raise NotFoundError(
        f"there is no pack {name!r}; there are {', '.join(available(folders))}. One of your own is"
        " found by the entry point group clew.packs, or in a folder that CLEW_PACKS__FOLDERS names"
    )


def unread_formats(names: Iterable[str], enabled: Collection[str]) -> dict[str, int]:
    """How many files of these names a pack that ships and is not enabled would read, by pack.

    Only formats that are mere text without a pack: a calendar, say, but no Markdown.
    """
    endings = Counter(one for name in names for one in {name, PurePath(name).suffix})
    from clew.indexing.reading.formats.media_types import media_type_of  # a search reads no files

    found = {}
    for pack in set(_built_in()) - set(enabled):
        readers = load(pack, ()).readers
        if count := sum(endings[one] for one in readers if media_type_of(one) == "text/plain"):
            found[pack] = count
    return found


def _built_in() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(clew.packs.__path__) if module.ispkg]


def _places(name: str, folders: Sequence[Path]) -> Iterator[tuple[ModuleType, str]]:
    """Where a pack of that name may be: module and attribute, in order."""
    if name in _built_in():
        yield importlib.import_module(f"clew.packs.{name}"), "PACK"
    for declared, folder in _in_folders(folders):
        if declared == name:
            yield _from_folder(folder), "PACK"
    for point in entry_points(group=GROUP, name=name):
        yield _from_entry_point(point), point.attr or "PACK"


def _in_folders(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Names and folders of the packs there: as they declare it, else that of the folder.

    A folder itself may be a pack, too. One that cannot be loaded goes by its folder's name, so that
    who asks for it learns why.
    """
    for path in folders:
        for init in (path / "__init__.py", *sorted(path.glob("*/__init__.py"))):
            if init.is_file():
                try:
                    pack = getattr(_from_folder(init.parent), "PACK", None)
                except InputError:
                    pack = None
                yield pack.name if isinstance(pack, Pack) else init.parent.name, init.parent


def _from_entry_point(point: EntryPoint) -> ModuleType:
    try:
        return importlib.import_module(point.module)
    except ImportError as error:
        raise InputError(
            f"the pack {point.name!r} cannot be loaded ({error}); reinstall its package"
        ) from error


def _from_folder(folder: Path) -> ModuleType:
    """The package in a folder, under a name that no other module has."""
    name = "clew_pack_" + re.sub(r"\W", "_", folder.name)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(
            f"the pack in {str(folder)!r} cannot be loaded ({type(error).__name__}: {error});"
            " correct it, or disable the pack"
        ) from error
    return module
