"""Finding the files to read: recursive, sorted, without what is hidden or git-ignored."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import EINVAL
from io import BufferedReader
from pathlib import Path

import pathspec

from clew.errors import InputError
from clew.settings import ReadSettings, Settings
from clew.settings.place import SETTINGS_FILE

_FOLDER_MARK = "ps_d"
"""The group of pathspec's patterns where a match as a folder ends: its API tells no such place."""
_NEVER = frozenset({".git", ".clew", SETTINGS_FILE})
_MAIL_INDEX = ".msf"
"""The ending of what Thunderbird keeps beside each of its mailboxes."""


def find_files(
    paths: Iterable[str | os.PathLike[str]],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    settings: ReadSettings,
    follow_links: bool = False,
) -> Iterator[Path]:
    """The files at the paths, absolute and with symbolic links resolved, each one once.

    Paths come in the order given, the files of a folder sorted by their path within it. A file
    given by name is always taken. Of a folder, hidden files and what git ignores are left out
    (unless the settings want them), and `.git`, `.clew` and `clew.toml` always; of a Maildir and
    its folders only what lies in `cur` and `new` comes out; symbolic links that
    lead out of all the paths are, unless `follow_links`. `include` and `exclude` are globs in the
    manner of .gitignore (`*.md`, `docs/**`) on the path relative to the folder given.
    A folder that cannot be listed comes out itself, so that reading it reports why.

    Raises `InputError`, before anything is found, for a path that does not exist and for a
    malformed glob.
    """
    given = [Path(path) for path in paths]
    for path in given:
        if not os.path.exists(path):  # nor does one whose name is too long
            raise InputError(
                f"no file or folder {str(path)!r} (from {str(Path.cwd())!r}): "
                "check the spelling, or give its absolute path"
            )
    wanted = _Wanted(
        include=_globs(include),
        exclude=_globs(exclude),
        settings=settings,
        inside=None if follow_links else tuple(os.path.realpath(path) for path in given),
    )
    return _find(given, wanted)


def _find(given: Sequence[Path], wanted: _Wanted) -> Iterator[Path]:
    seen: set[str] = set()
    for path in given:
        for name in _walk(path, wanted) if path.is_dir() else [str(path)]:
            real = os.path.realpath(name)
            if real not in seen and not wanted.leads_out(real):
                seen.add(real)
                # A link that leads nowhere is named itself.
                yield Path(name if os.path.islink(name) and not os.path.exists(name) else real)


# --- which entries of a folder are wanted ------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ignores:
    """The rules of one .gitignore, for everything below its folder."""

    folder: str
    rules: pathspec.GitIgnoreSpec

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: taken back by a `!` rule; None: no rule speaks of it."""
        relative = _relative(path, self.folder) + ("/" if is_folder else "")
        for pattern in reversed(self.rules.patterns):
            if pattern.include is not None and _is_meant(pattern, relative):
                return pattern.include
        return None


def _is_meant(pattern: pathspec.Pattern, path: str) -> bool:
    """Whether a rule matches the path itself.

    pathspec also matches whatever lies below a match, which `*` and `!docs` together must not: the
    walk has asked about each folder on the way, so that here only the last step counts.
    """
    if not isinstance(pattern, pathspec.RegexPattern) or pattern.regex is None:
        return False
    found = list(pattern.regex.finditer(path))
    marks = [match.end(_FOLDER_MARK) for match in found if match.groupdict().get(_FOLDER_MARK)]
    if marks:
        return len(path) in marks
    # `logs/**` matches `logs/` up to its end, but means its inside alone.
    return bool(found) and not (path.endswith("/") and found[0].end() == len(path))


_Folder = tuple[str, tuple[_Ignores, ...]]
"""A folder on the way, with the rules of all folders above it, outermost first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    include: pathspec.GitIgnoreSpec
    exclude: pathspec.GitIgnoreSpec
    settings: ReadSettings
    inside: tuple[str, ...] | None
    """Where links may lead to, real paths; None: anywhere."""

    def leads_out(self, real: str) -> bool:
        """Whether a real path lies beside all that was given."""
        return self.inside is not None and not any(
            real == path or real.startswith(os.path.join(path, "")) for path in self.inside
        )

    def takes(self, path: str, root: str, ignores: Sequence[_Ignores]) -> bool:
        """Whether a file is read, or a folder gone into."""
        name = os.path.basename(path)
        is_folder = os.path.isdir(path)
        # The folders of a Maildir begin with a dot: `.Sent`.
        is_hidden = name.startswith(".") and not (is_folder and _is_maildir(path))
        if name in _NEVER or (is_hidden and not self.settings.hidden):
            return False
        # What programs for mail keep beside their mail: of a Maildir its files, all but those in
        # `cur` and `new`, and its `tmp`, where mail is on its way.
        beside_mail = (not is_folder or name == "tmp") and _is_maildir(os.path.dirname(path))
        if beside_mail or (not is_folder and name.endswith(_MAIL_INDEX)):
            return False
        # No socket or pipe; what cannot be looked at counts, so that reading it reports why: a link
        # that leads nowhere, a path that is too long.
        if not (
            is_folder or os.path.isfile(path) or os.path.islink(path) or _is_out_of_reach(path)
        ):
            return False
        relative = _relative(path, root)
        if self.exclude.match_file(relative + "/" if is_folder else relative):
            return False
        if not is_folder and self.include.patterns and not self.include.match_file(relative):
            return False
        return not _ignored(path, is_folder, ignores)


def _is_out_of_reach(path: str) -> bool:
    """Whether the system cannot even say what there is, such as below a path that is too long."""
    try:
        os.lstat(path)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    return False


def _is_maildir(folder: str) -> bool:
    return all(os.path.isdir(os.path.join(folder, name)) for name in ("cur", "new", "tmp"))


def _relative(path: str, folder: str) -> str:
    """The part of a path below one of its folders, with forward slashes."""
    return path[len(os.path.join(folder, "")) :].replace(os.sep, "/")


def _globs(globs: Sequence[str]) -> pathspec.GitIgnoreSpec:
    for glob in globs:
        try:
            pathspec.GitIgnoreSpec.from_lines([glob])
        except ValueError as error:
            raise InputError(
                f"cannot use the glob {glob!r}: expected one such as '*.md' or 'docs/**'"
            ) from error
    return pathspec.GitIgnoreSpec.from_lines(globs)


def _ignored(path: str, is_folder: bool, ignores: Sequence[_Ignores]) -> bool:
    """The nearest .gitignore that speaks of the path decides."""
    for rules in reversed(ignores):
        verdict = rules.verdict(path, is_folder)
        if verdict is not None:
            return verdict
    return False


# --- walking ------------------------------------------------------------------------------


def _walk(root: Path, wanted: _Wanted) -> list[str]:
    """Paths of the files below a folder, sorted.

    Links to folders wait until all real folders are done, so that a file has the name at which it
    lies wherever it has one, and no folder is gone into twice.
    """
    top = os.path.realpath(root)
    found: list[str] = []
    seen: set[str] = set()
    folders: list[_Folder] = [
        (top, () if wanted.settings.git_ignored else _ignores_above(Path(top)))
    ]
    links: list[_Folder] = []
    while folders or links:
        folder, below = folders.pop() if folders else links.pop(0)
        real = os.path.realpath(folder)
        if real in seen or wanted.leads_out(real):
            continue
        seen.add(real)
        try:
            names = list_real(Path(real))
        except OSError:
            names = []
            found.append(folder)
        if not wanted.settings.git_ignored:
            below += _read_ignores(folder, Path(folder, ".gitignore"))
        for path in (os.path.join(folder, name) for name in names):
            if not wanted.takes(path, top, below):
                continue
            if not os.path.isdir(path):
                found.append(path)
            elif os.path.islink(path):
                links.append((path, below))
            else:
                folders.append((path, below))
    return sorted(found, key=lambda path: path.split(os.sep))


def _read_ignores(folder: str, file: Path) -> tuple[_Ignores, ...]:
    try:
        # Like git, through no link; nor is a pipe waited for.
        with open_real(Path(os.path.realpath(file.parent), file.name)) as opened:
            lines = opened.read().decode("utf-8-sig", "replace").splitlines()
    except OSError:
        return ()
    rules = []
    for line in lines:
        with suppress(ValueError):  # git passes over malformed rules; pathspec would not
            pathspec.GitIgnoreSpec.from_lines([line])
            rules.append(line)
    return (_Ignores(folder, pathspec.GitIgnoreSpec.from_lines(rules)),)


def _ignores_above(folder: Path) -> tuple[_Ignores, ...]:
    """The rules of the git repository that the folder lies in, from above the folder.

    None where those rules ignore the folder itself: who names it wants what it holds.
    """
    chain = [folder, *folder.parents]
    depth = next((i for i, path in enumerate(chain) if (path / ".git").exists()), None)
    if depth is None:
        return ()
    top = chain[depth]
    ignores = _read_ignores(str(top), top / ".git" / "info" / "exclude")
    for path, inner in zip(chain[depth:0:-1], chain[depth - 1 :: -1], strict=False):
        ignores = (*ignores, *_read_ignores(str(path), path / ".gitignore"))
        if _ignored(str(inner), True, ignores):
            return ()
    return ignores


# Which files may be read on behalf of a caller; opening what was permitted and nothing else.


_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)  # Windows
    | getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for
    | getattr(os, "O_NOCTTY", 0)
)


def roots_of(settings: Settings) -> list[Path]:
    """The folders that may be read, links resolved.

    A relative one depends on where the process was started: where that is the home of the user, or
    lies above it, it is none.
    """
    named = [str(root).replace("{namespace}", settings.namespace) for root in settings.access.roots]
    home = _resolved("~")
    return [
        root
        for name in named
        if not home.is_relative_to(root := _resolved(name)) or Path(name).expanduser().is_absolute()
    ]


def permitted_path(path: str | Path, settings: Settings) -> Path:
    """The path with symbolic links resolved, relative ones taken from the first root.

    Raises `InputError` where it does not lie below one of the roots, or is Clew's own: settings, or
    what lies in the folder of the stores, where other namespaces are.
    """
    roots = roots_of(settings)
    if "\x00" in str(path):
        raise InputError(f"path {str(path)!r} holds a NUL character; give a path without one")
    if not roots:
        raise InputError(
            f"path {str(path)!r} cannot be read: no folder is open to you here; expected a path"
            " below a folder that the setting access.roots names (over HTTP: serve.roots). Name one"
            " there (`clew install --root FOLDER` does), or send the text itself or a url"
        )
    real = _resolved(roots[0] / os.path.expanduser(path))
    if not any(real.is_relative_to(root) for root in roots):
        shown = ", ".join(map(str, roots))
        raise InputError(
            f"path {str(path)!r} lies outside the folders that may be used ({shown}); move the file"
            " below one of them, or add its folder to the setting access.roots (over HTTP:"
            " serve.roots)"
        )
    below = [real.relative_to(root).parts for root in roots if real.is_relative_to(root)]
    if not settings.read.hidden and all(any(p.startswith(".") for p in parts) for parts in below):
        raise InputError(
            f"path {str(path)!r} is hidden, and what is hidden is not read (keys, settings); name"
            " its folder in the setting access.roots (over HTTP: serve.roots), or set read.hidden"
        )
    if is_clews_own(real, settings):
        raise InputError(
            f"path {str(path)!r} lies in the folder of the stores or is a file of settings, which"
            " are not for documents; give another path"
        )
    return real


def writable_path(path: str | Path, settings: Settings) -> Path:
    """A file that may be read and changed, links resolved. Raises `InputError` for any other."""
    named = (str(one).replace("{namespace}", settings.namespace) for one in settings.access.write)
    folders = [_resolved(one) for one in named]
    real = permitted_path(path, settings)
    if not any(real.is_relative_to(folder) for folder in folders) or not real.is_file():
        raise InputError(
            f"the file {str(path)!r} may not be changed; change it by hand, or name its folder in"
            " the setting access.write"
        )
    return real


def replace_file(path: Path, text: str) -> None:
    """Put a text in the place of a file's, all at once, with the file's rights.

    Raises `InputError` where that cannot be done; the file is what it was, then.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(
            f"{str(path)!r} cannot be written ({error.strerror}); nothing changed"
        ) from error


def existing_path(path: str | Path, settings: Settings) -> Path:
    """`permitted_path` of a regular file or a folder that is there; else `InputError`."""
    real = permitted_path(path, settings)
    # Unlike `Path.exists`, this takes a name that is too long for one that is not there.
    if not os.path.exists(real):
        raise InputError(
            f"no file or folder {str(path)!r} (looked at {str(real)!r}); check the spelling, or"
            " give its absolute path"
        )
    if not (real.is_file() or real.is_dir()):
        raise InputError(f"{str(path)!r} is a device or a pipe; give a regular file or a folder")
    return real


def is_clews_own(path: Path, settings: Settings) -> bool:
    """Whether a file is one of settings, or lies where stores or their vectors are kept."""
    if path.name.casefold() == SETTINGS_FILE or _is_same(path, Path(SETTINGS_FILE)):
        return True
    folders = [
        _resolved(folder)
        for folder in (settings.stores_folder, settings.qdrant.path, settings.chroma.path)
        if folder is not None
    ]
    return any(
        path.is_relative_to(folder) or any(_is_same(above, folder) for above in path.parents)
        for folder in folders
    )


def open_real(path: Path) -> BufferedReader:
    """Open a regular file at a path that was resolved before.

    Raises `OSError` where a link stands in the path by now: somebody put it there after it was
    permitted.
    """
    descriptor = _open_unlinked(Path(os.path.abspath(path)), _READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        os.stat(path)  # a folder whose path is too long to list it has come here: this says so
        raise OSError(EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")


def list_real(folder: Path) -> list[str]:
    """Names in a folder at a path that was resolved before; raises `OSError` as `open_real`."""
    if sys.platform == "win32":  # lists no descriptor
        return sorted(os.listdir(folder))
    descriptor = _open_unlinked(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)


def _open_unlinked(path: Path, flags: int) -> int:
    # macOS refuses links by itself; Windows needs rights for them.
    if sys.platform == "win32" or not hasattr(os, "O_PATH"):
        return os.open(path, flags | getattr(os, "O_NOFOLLOW_ANY", 0))
    # From folder to folder by descriptor: whatever is renamed meanwhile, no link is followed.
    folder = os.open(path.anchor, os.O_PATH | os.O_DIRECTORY)
    try:
        for name in path.parts[1:-1]:
            inner = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(path.name or ".", flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths are the same file or folder, however each is written."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))
