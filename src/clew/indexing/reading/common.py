"""What every reader shares: its input and output, clean text, JSON values, times."""

from __future__ import annotations

import codecs
import gzip
import json
import logging
import math
import re
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from io import BytesIO
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import yaml

from clew.errors import LimitError, UnreadableError
from clew.hookspecs import Reader, listed, named, there
from clew.languages import read_word_lists
from clew.settings import LimitSettings, ReadSettings
from clew.text import one_line, text_digest, text_language
from clew.times import date_of, in_utc, to_date, to_time
from clew.types import DatePrecision, DateSource, Document, PartialDate, Skipped, record_source

# Media types by the ending of a file's name.


_OWN = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdx": "text/markdown",
    ".qmd": "text/markdown",
    ".rmd": "text/markdown",
    ".rst": "text/x-rst",
    ".rest": "text/x-rst",
    ".pod": "text/x-pod",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".tex": "text/x-tex",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".mbx": "application/mbox",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docm": "application/vnd.ms-word.document.macroenabled.12",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xls": "application/vnd.ms-excel",
    ".msg": "application/vnd.ms-outlook",
    ".epub": "application/epub+zip",
    ".zip": "application/zip",
}

UNKNOWN = "text/plain"
"""The media type of files whose ending says nothing."""


def media_type_of(suffix: str) -> str:
    """The media type of files that end so (lower case, with the dot), plugins' among them."""
    known = (kind.endings[suffix] for kind in listed("kinds") if suffix in kind.endings)
    return _OWN.get(suffix) or next(known, UNKNOWN)


def suffix_of(media_type: str) -> str:
    """The first ending of files of that media type; empty where none is known."""
    tables = (_OWN, *(kind.endings for kind in listed("kinds")))
    return next((end for table in tables for end, one in table.items() if one == media_type), "")


_UPDATED = ("updated_at", "updated", "modified_at", "modified", "last_modified", "lastmod")
TEMPLATE_AUTHORS = frozenset({"python-docx", "Steve Canny", "openpyxl", "PHPOffice"})
"""Whom libraries name in the templates of new files, with the date of the template."""
DEEPEST = 20
"""Levels that indentation shows; what is nested deeper would be mostly blanks."""
LONGEST_VALUE = 2000
"""Characters of a value of metadata, at most: what is longer is for reading, not for filters."""
_TEXT_BREAKS = re.compile(r"\r\n?|[\f\v\u0085\u2028]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadResult:
    """What one file held, and what of it could not be read."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    """Records or pages that could not be read, while others of the same file could."""
    lacks: str = ""
    """The extra that would have read more of it, where that is not installed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawFile:
    """The bytes of one file, and what a reader needs to know about it.

    Example:
        >>> def read_recipe(raw: clew.RawFile) -> clew.Document:
        ...     return clew.Document(source=raw.source, text=raw.data.decode())
    """

    source: str
    """Identity of the document that it holds, and what errors name."""
    data: bytes
    settings: ReadSettings
    name: str = ""
    """Its file name, where the source does not end in one."""
    read_from: str = ""
    """Of its documents; see `Document`."""
    path: Path | None = None
    """Where it lies, for what is read with what lies beside it."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    """What reading it may take."""
    readers: Mapping[str, Sequence[Reader]] = field(default_factory=dict)
    """Asked before the built-in ones: by ending (".ics") or by whole name ("todo.txt")."""

    @property
    def suffix(self) -> str:
        """Ending of the name, in lower case, with the dot."""
        return PurePosixPath(self.name or self.source).suffix.lower()

    @property
    def media_type(self) -> str:
        """By its ending, or that of PDF, which shows by its first bytes."""
        return "application/pdf" if self.data.startswith(b"%PDF-") else media_type_of(self.suffix)

    @property
    def own_readers(self) -> Iterator[Reader]:
        """Those of `readers` for a file of this name, then those of plugins for it or its type."""
        name = PurePosixPath(self.name or self.source).name.lower()
        keys = dict.fromkeys((name, self.suffix))
        for key in keys:
            yield from self.readers.get(key, ())
        brought = named("readers")
        for key in (*keys, self.media_type):
            yield from map(there, brought.get(key, ()))

    def record(self, key: object) -> str:
        """The source of a record in it."""
        return record_source(self.source, key)

    def unreadable(self, reason: str) -> UnreadableError:
        """The error that says why this file cannot be read."""
        return UnreadableError(self.source, reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Properties:
    """A document's title and times, taken out of its metadata."""

    title: str = ""
    created_at: datetime | None = None
    date_precision: DatePrecision = ""
    date_source: DateSource = ""
    """`properties` where the file's program and no text states the date."""
    updated_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def document(
        self,
        source: str,
        text: str,
        media_type: str,
        *,
        title: str = "",
        page_starts: tuple[int, ...] = (),
    ) -> Document:
        """A document that has them; `title` is for one whose metadata names none."""
        return Document(
            source=source,
            text=text,
            title=self.title or title,
            media_type=media_type,
            created_at=self.created_at,
            date_precision=self.date_precision,
            date_source=self.date_source if self.created_at else "",
            updated_at=self.updated_at,
            metadata=self.metadata,
            page_starts=page_starts,
        )


def check_limit(limits: LimitSettings, name: str, amount: int, source: str) -> None:
    """Raise `LimitError` where a document has more of something than the setting allows."""
    if amount > getattr(limits, name):
        raise over_limit(limits, name, source, f"{amount:,} {name}")


def over_limit(limits: LimitSettings, name: str, source: str, found: str) -> LimitError:
    """The error of a document that takes more than the setting `limits.<name>` allows."""
    return LimitError(
        source,
        f"{found}, limit {getattr(limits, name):,}; raise limits.{name} or split the document",
    )


def clean_text(text: str) -> str:
    r"""Newlines as `\n`, no NUL, no lone surrogate: what every store and encoder accepts."""
    text = _TEXT_BREAKS.sub("\n", text).replace("\x00", "")
    if _SURROGATE.search(text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def json_safe(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """The value as JSON can hold it: times as ISO text, NaN and infinities as text."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return in_utc(value).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {clean_text(str(key)): json_safe(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [json_safe(item) for item in value]
    return clean_text(str(value))


def bounded_metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as JSON can hold them, each cut at a bounded length: every hit has a copy."""
    found: dict[str, Any] = json_safe(values)
    for name, value in found.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > LONGEST_VALUE:
            found[name] = text[:LONGEST_VALUE]
    return found


def properties(values: Mapping[str, Any]) -> Properties:
    """Title and times out of metadata, under the names in common use.

    `title`, `created_at` and `updated_at` leave the metadata when they are understood; every
    other name stays, so that a filter on `date` works as its author wrote it.
    """
    safe: dict[str, Any] = json_safe(values)
    names = {re.sub(r"[\s-]+", "_", name.strip().casefold()): name for name in reversed(safe)}
    title = safe.get(names.get("title", ""))
    date = date_of(safe)
    times = {name: to_time(safe.get(names.get(name, ""))) for name in ("created_at", *_UPDATED)}
    understood = {
        "title": isinstance(title, (str, int, float)) and not isinstance(title, bool),
        "created_at": times["created_at"] is not None,
        "updated_at": times["updated_at"] is not None,
    }
    taken = {names.get(name) for name, known in understood.items() if known}
    return Properties(
        title=one_line(str(title)) if understood["title"] else "",
        created_at=date.start if date else None,
        date_precision=date.precision if date else "",
        updated_at=next(filter(None, map(times.get, _UPDATED)), None),
        metadata={name: value for name, value in safe.items() if name not in taken},
    )


_FILE_NAME = re.compile(r"[^\s/\\]{1,200}\.[A-Za-z0-9]{2,5}")
_NO_TITLES = re.compile(
    r"(?:untitled|document|presentation|slide|workbook|title|unknown|no title|microsoft \w{1,20}"
    r"|(?:power ?point|word) presentation)[ \d.-]{0,10}",
    re.IGNORECASE,
)
_PRODUCER = re.compile(r"^Microsoft \w{1,20} -\s*")


def stated_property_title(title: str) -> str:
    """A title as a program writes it into a file; empty for "untitled" and the name of a file."""
    title = _PRODUCER.sub("", one_line(title))
    return "" if _NO_TITLES.fullmatch(title) or _FILE_NAME.fullmatch(title) else title


# Bytes to text.


# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_SHARE = 0.02
_DAMAGED_SHARE = 0.1
_PIXMAP = "/* XPM */"
"""How X pixmaps begin, images that are written in letters."""
_LATIN = ("cp1252", "cp1250", "iso8859-2", "cp1254")
"""Encodings of Latin letters, by how common they are."""
_JUDGED = 20_000
"""Characters that an encoding is judged by."""
_ACCENTED = "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_WITHIN_WORDS = re.compile(
    f"(?<=[A-Za-z{_ACCENTED}])[^\\s\\x00-\\x7f{_ACCENTED}’‘‑–—·…“”\u00ad](?=[A-Za-z{_ACCENTED}])"
    f"|(?<=[A-Za-z{_ACCENTED}])[^\\W\\d_A-Za-z{_ACCENTED}²³¹¼½¾ªºµ]|[\\x80-\\x9f\ufffd]"
)
"""Signs between letters, but those that belong there; other scripts behind them; no characters."""


def decode(raw: RawFile, declared: str | None = None) -> str:
    r"""The file's text, newlines as `\n`.

    A byte order mark decides; then UTF-8 is tried, then the encoding that the file declares, then
    whichever of the common Latin ones and what charset-normalizer finds most likely makes letters
    that one language has. Raises `UnreadableError` with the reason "empty",
    "binary" or "undecodable".
    """
    text = clean_text(_decode(raw, declared))
    if not text.strip():
        raise raw.unreadable("empty")
    if text.startswith(_PIXMAP) or len(_CONTROL.findall(text)) > _CONTROL_SHARE * len(text):
        raise raw.unreadable("binary")
    return text


def _decode(raw: RawFile, declared: str | None) -> str:
    for mark, encoding in _MARKS:
        if raw.data.startswith(mark):
            try:
                return raw.data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise raw.unreadable(f"undecodable (marked as {encoding.upper()})") from error
    if b"\x00" in raw.data:
        raise raw.unreadable("binary")
    with suppress(UnicodeDecodeError):
        return raw.data.decode("utf-8")
    with suppress(LookupError):  # no such encoding, or one such as "hex", which makes no text
        if declared is not None and codecs.lookup(declared).name != "utf-8":
            return raw.data.decode(declared, "replace")
    # All but a few bytes beyond ASCII are good UTF-8.
    text = raw.data.decode("utf-8", "replace")
    if text.count("\ufffd") <= _DAMAGED_SHARE * sum(character > "\x7f" for character in text):
        return text
    from charset_normalizer import from_bytes  # only the rare file needs it

    found = [raw.data.decode(encoding, "replace") for encoding in _LATIN]
    best = from_bytes(raw.data).best()
    if best is None and "\ufffd" in found[0]:
        raise raw.unreadable("undecodable")
    return min([*found, *map(str, filter(None, [best]))], key=_strangeness)


def _strangeness(text: str) -> tuple[int, int]:
    """How many letters no single language has, and how many the text's own has not.

    One encoding taken for another makes letters of several languages, and signs or other scripts
    within words: "né ŕ", "ka¿dego".
    """
    sample = text[:_JUDGED]
    letters = re.findall(f"[{_ACCENTED}]", sample.lower())
    languages = read_word_lists("clew.languages", "letters.toml")
    strange = {code: sum(one not in own for one in letters) for code, own in languages.items()}
    least = min(strange.values())
    return least + len(_WITHIN_WORDS.findall(sample)), strange.get(text_language(sample), least)


# Fields at the beginning of a text: `:Author: Ada`, `Author: Ada` or `**Author:** Ada`.


_MARKED = re.compile(r":(?P<name>[\w][\w -]{0,60}):(?:[ \t]+(?P<value>[^\n]*))?\n?")
_BARE = re.compile(r"(?P<name>[A-Z][\w-]{0,60}+(?: [\w-]{1,60}+){0,3}+):[ \t]+(?P<value>[^\n]*)\n?")
_BOLD = re.compile(
    r"(?:[-*+][ \t]+)?\*\*(?P<name>[^\W\d_][\w -]{0,40}?)(?::\*\*|\*\*[ \t]?:)[ \t]*"
    r"(?P<value>[^\n]*)\n?"
)
_CONTINUED = re.compile(r"(?<![ \t])[ \t]++(?P<value>\S[^\n]*)\n?")
_TELLING = frozenset(
    "abstract author authors category created date editor editors from last-modified modified"
    " obsoletes published revised status subject title updated version".split()
)
"""Of bare fields one of these must be one: a dialogue has names and colons, too."""
_PEOPLE = frozenset({"author", "authors", "editor", "editors"})
_MOST = 100
"""Fields of a text, at most."""
_ADDRESS = re.compile(r"(?<!\s)\s*+<[^<>]*>")
_BETWEEN_NAMES = re.compile(r"[,;]\s+|\n\s*")
Fields = dict[str, Any]


_FORMS = {"marked": (_MARKED, 1), "bare": (_BARE, 2), "bold": (_BOLD, 1)}
"""`:Name: value`, `Name: value` and `**Name:** value`, and the fewest that are a list of fields."""


def fields_at(text: str, position: int, form: Literal["marked", "bare", "bold"]) -> Fields:
    """The list of fields that begins behind the blanks at the position.

    Bare and bold ones are none where no name is a telling one. They end with an empty line;
    indented lines go on with the value above them.
    """
    pattern, fewest = _FORMS[form]
    found: Fields = {}
    rest = text[position:]
    position += len(rest) - len(rest.lstrip())
    while len(found) < _MOST and (field := pattern.match(text, position)):
        lines = [field["value"] or ""]
        position = field.end()
        while more := _CONTINUED.match(text, position):
            lines.append(more["value"])
            position = more.end()
        name = field["name"].strip().lower()
        value: str | list[str] = one_line(" ".join(lines))
        if name in _PEOPLE:  # several as a list of names, without their addresses
            people = _BETWEEN_NAMES.split(_ADDRESS.sub("", "\n".join(lines)))
            names = list(filter(None, (one_line(one).strip(" ,;") for one in people)))
            value = names if len(names) > 1 else "".join(names)
        found.setdefault(name, value)
    is_told = form == "marked" or _TELLING.intersection(found)
    return found if is_told and len(found) >= fewest else {}


# Front matter: the block of YAML (`---`) or TOML (`+++`) before a Markdown text.


_log = logging.getLogger(__name__)
_BLOCK = re.compile(
    r"\A\ufeff?(?P<mark>---|\+\+\+)[ \t]*\n(?P<block>.*?)^(?:(?P=mark)|\.\.\.)[ \t]*(?:\n|\Z)",
    re.M | re.S,
)
_DOTS = 200
"""In a line of TOML, at most: each part of a dotted key costs as much as all before it together."""


class _Loader(yaml.SafeLoader):
    """YAML without aliases, whose expansion can be vast, and with dates left as written.

    A date that cannot be (2024-02-31) would otherwise take the whole block with it.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - the name and form that PyYAML gives it
        first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node; an alias is an error."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not supported in front matter")
        return super().compose_node(parent, index)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The front matter's values and the text after it; no values and all text without any.

    A block that cannot be parsed stays a part of the text, so that nothing is lost.
    """
    match = _BLOCK.match(text)
    if match is None:
        return {}, text
    try:
        values: object = None
        if match["mark"] == "+++":
            if max(line.count(".") for line in match["block"].split("\n")) > _DOTS:
                raise ValueError(f"a line has more than {_DOTS} dots")
            values = tomllib.loads(match["block"])
        else:
            values = yaml.load(match["block"], Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        _log.info("front matter left in the text: %s", error)
        return {}, text
    if not isinstance(values, dict):
        # Text between two rules, or an empty block.
        return {}, text if values is not None else text[match.end() :].lstrip("\n")
    return values, text[match.end() :].lstrip("\n")


# Files packed with gzip, as Debian packs its documentation.


GZIPPED = ".gz"


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


# One record of a file as a document: what it tells, and the entity that it describes.


TYPE = "entity_type"
"""Name of the metadata that says what kind of entity a document describes."""


def record(
    raw: RawFile,
    key: str,
    text: str,
    *,
    title: str,
    media_type: str,
    entity_type: str = "",
    fields: Mapping[str, Any] | None = None,
    date: PartialDate | datetime | str | None = None,
) -> Document:
    """The document of one record of a file.

    Args:
        raw: The file.
        key: Tells the record from the others of the file; stays the same while it is the same.
        text: What can be found by its words.
        title: Names the entity that the record describes, where it describes one.
        media_type: Of the record.
        entity_type: What kind of entity it describes; of those that every store
            knows, or of those that are declared.
        fields: Properties of the entity, as metadata: JSON values; times are aware.
        date: When it was, or was said; text is read as ISO 8601.
    """
    metadata = {TYPE: entity_type, **(fields or {})} if entity_type else dict(fields or {})
    metadata = bounded_metadata({name: v for name, v in metadata.items() if v not in (None, "")})
    stated = to_date(date) if isinstance(date, (str, datetime)) else date
    return Document(
        source=raw.record(key),
        origin=raw.source,
        text=text,
        title=title,
        sha256=text_digest(repr((title, text, stated, sorted(metadata.items())))),
        media_type=media_type,
        created_at=stated.start if stated else None,
        date_precision=stated.precision if stated else "",
        metadata=metadata,
    )


# JSON, a value a line.


MALFORMED = object()
"""Stands for a line that is no JSON."""


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """The values with the numbers of their lines, which end at a line feed alone."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, MALFORMED


# Parts in one text.


def joined(parts: Sequence[str], gap: str) -> tuple[str, list[int]]:
    """The parts with a gap between them, and where each begins."""
    starts = accumulate((len(part) + len(gap) for part in parts), initial=0)
    return gap.join(parts), list(starts)[: len(parts)]


# Tables as Markdown.


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as a Markdown table, the first one as its header."""
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        if number == 0:
            yield "|" + " --- |" * len(row)


# The people of a message, as its metadata keeps them.


class Person(NamedTuple):
    """One of the people of a field; either may be empty."""

    name: str
    address: str
    """In lower case."""


def person(name: str, address: str) -> Person:
    """Somebody as a header or a calendar names them: "Lopez, Maria" is Maria Lopez."""
    name = one_line(clean_text(name)).strip("'\" ")
    name = re.sub(r" \(?via [^()]*\)?$", "", name)
    address = one_line(clean_text(address)).casefold().removeprefix("mailto:")
    family, comma, given = name.partition(", ")
    if comma and "," not in given and " " not in family:
        name = f"{given} {family}"
    if "@" in name:
        name = ""
    if "@" not in address or " " in address:
        name, address = name or address, ""
    return Person(name, address)


def flat(found: Iterable[Person]) -> list[str]:
    """Names and addresses as one list, each address after its name: what filters compare with."""
    return [part for person in found for part in person if part]


def from_flat(values: object) -> list[Person]:
    """The people of a list made by `flat`."""
    found: list[Person] = []
    for value in values if isinstance(values, list) else []:
        if "@" not in str(value):
            found.append(Person(str(value), ""))
        elif found and not found[-1].address:
            found[-1] = Person(found[-1].name, str(value))
        else:
            found.append(Person("", str(value)))
    return found
