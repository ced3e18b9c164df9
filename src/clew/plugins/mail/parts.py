"""Header fields: people, dates, message ids, in whatever encoding.

The library's parsers take time with the square of a field's length, so that each is cut first.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32, default
from email.utils import getaddresses, parsedate_to_datetime
from typing import Literal, NamedTuple, cast

from clew.errors import UnreadableError
from clew.indexing.reading.common import Person, RawFile, check_limit, clean_text, decode, person
from clew.text import one_line
from clew.times import in_utc

MEDIA_TYPE = "message/rfc822"
LONGEST_FIELD = 16_000
"""Characters of a field that are read: some three hundred recipients."""
_MAILBOX_DATE = "mailbox date"
_LONGEST_MALFORMED = 1_000
_MOST_FIELDS = 2_000
_MOST_IDS = 100
_ID = re.compile(r"<([^<>\s]{1,250})>")
_FOLD = re.compile(r"[\r\n]+")


class BoundedFields(Compat32):
    """The library's forgiving policy, with fields cut to what is bearable to parse."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Name and value of a field."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST_FIELD]


def fields_of(message: Message) -> dict[str, str]:
    """The first field of each name (lower case), unfolded, still encoded.

    Under `_MAILBOX_DATE` the date of the line that parts the messages of a mailbox.
    """
    found: dict[str, str] = {}
    for name, value in list(message.raw_items())[:_MOST_FIELDS]:
        # Bytes beyond ASCII were sent without saying their encoding.
        data = str(value).encode("utf-8", "surrogateescape")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        found.setdefault(name.lower(), _FOLD.sub("", text).strip())
    if line := message.get_unixfrom():
        found[_MAILBOX_DATE] = " ".join(line[:_LONGEST_MALFORMED].split()[2:])
    return found


def text_field(value: str) -> str:
    """A field's text with encoded words decoded, on one line."""
    text = value
    if "=?" in value:
        with suppress(LookupError):  # no such encoding
            parts = decode_header(value)
            try:
                text = str(make_header(parts))
            except ValueError:  # not all of it is encoded so
                text = "".join(
                    part if isinstance(part, str) else part.decode(charset or "latin-1", "replace")
                    for part, charset in parts
                )
    return one_line(clean_text(text))


def people(value: str) -> list[Person]:
    """Who a field names, each once."""
    if len(value) >= LONGEST_FIELD:
        value = value.rpartition(",")[0]  # the last one may be half a name
    if "@" not in value:
        value = value.replace(" at ", "@")  # as archives of mailing lists write it
    found = [(text_field(name), address) for name, address in getaddresses([value])]
    if not any(name or address for name, address in found):
        # More patient with what is malformed, and slow; it fails in many ways.
        with suppress(Exception):
            given = default.header_factory("to", value[:_LONGEST_MALFORMED]).addresses
            found = [(one.display_name or "", one.addr_spec) for one in given]
    people = (person(name, address) for name, address in found)
    return list(dict.fromkeys(one for one in people if one.name or one.address))


def message_ids(value: str) -> list[str]:
    """The ids in a field, without their brackets."""
    return _ID.findall(value)[:_MOST_IDS]


def date_field(fields: Mapping[str, str]) -> datetime | None:
    """When a message was sent, in its own zone; where it does not say, when it was received."""
    received = fields.get("received", "").rpartition(";")[2]
    told = (fields.get(name, "") for name in ("date", "resent-date", "delivery-date"))
    for value in (*told, received, fields.get(_MAILBOX_DATE, "")):
        try:
            date = parsedate_to_datetime(text_field(value)[:100])
            in_utc(date)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return date if date.tzinfo else in_utc(date)
    return None


# The parts of a message: what is to be read of it, and the names of what is attached.


_LONGEST_ATTACHMENT = 200_000
"""Characters of an attached text that are read."""
_SLOW_CODECS = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape"})
_UNREAD = frozenset({"text/calendar", "text/vcard", "text/x-vcard", "text/rfc822-headers"})


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a message."""

    kind: Literal["body", "attachment", "message"]
    text: str = ""
    name: str = ""
    """Of an attachment's file."""
    message: Message | None = None
    """Where a message is attached: that message."""


def read_parts(raw: RawFile, message: Message) -> tuple[list[Part], list[str]]:
    """The texts of a message in order, and the names of its attachments.

    Of alternatives the plain text is read, where it says anything. Raises `LimitError` for too many
    parts.
    """
    found: list[Part] = []
    names: list[str] = []
    for part in _leaves(raw, message):
        kind = part.get_content_type()
        name = text_field(part.get_filename() or "")
        if kind == "message/rfc822":
            nested = part.get_payload()
            if isinstance(nested, list) and nested:
                found.append(Part("message", message=cast("Message", nested[0])))
            continue
        is_attached = part.get_content_disposition() == "attachment" or bool(name)
        if is_attached and name:
            names.append(name)
        if part.get_content_maintype() != "text" or kind in _UNREAD:
            continue
        text = _text(raw, part, kind)
        if is_attached:
            text = text[:_LONGEST_ATTACHMENT]
        if text.strip():
            found.append(Part("attachment" if is_attached else "body", text, name))
    return found, list(dict.fromkeys(names))


def _leaves(raw: RawFile, message: Message) -> Iterator[Message]:
    """The parts that hold no others, in order; messages within count as one."""
    stack, count = [message], 0
    while stack:
        part = stack.pop()
        count += 1
        check_limit(raw.limits, "members", count, raw.source)
        children = part.get_payload() if part.get_content_maintype() == "multipart" else None
        if not isinstance(children, list):
            yield part
            continue
        inner = cast("list[Message]", children)
        if part.get_content_subtype() == "alternative" and inner:
            # The plain text where it says something, else the richest, which stands last.
            plain = (p for p in inner if p.get_content_type() == "text/plain")
            inner = [next((p for p in plain if _bytes(p).strip()), inner[-1])]
        stack.extend(reversed(inner))


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(raw: RawFile, part: Message, kind: str) -> str:
    """A part's text; empty where it is none."""
    data = _bytes(part)
    text = None
    # The encoding that the part declares goes first, which UTF-8 must not be taken for.
    charset = part.get_content_charset("")
    with suppress(LookupError, ValueError):
        if codecs.lookup(charset).name not in _SLOW_CODECS:
            text = data.decode(charset)
    if text is None:
        with suppress(UnreadableError):
            text = decode(replace(raw, data=data, name="", path=None))
    if text is None or "\x00" in text:
        return ""
    if kind != "text/html":
        return clean_text(text)
    from clew.indexing.reading.html import html_document

    return html_document(text, raw.source).text


# What of a message's text is the sender's own, what is quoted, and what is a signature.


Kind = Literal["own", "reply", "forward", "signature"]
"""`reply`: quoted from the message that is answered; `forward`: from one that is passed on."""


class Passage(NamedTuple):
    """Lines of a message that belong together."""

    kind: Kind
    text: str
    author: str = ""
    """Whose words are quoted, where that is said."""


_WROTE = (
    *("wrote", "writes", "said", "schrieb", "schreibt", "a écrit", "écrit", "escribió"),
    *("ha scritto", "scrisse", "skrev", "schreef", "escreveu", "napisał", "napsal", "kirjoitti"),
    *("пишет", "написал", "写道", "のメール"),
)
_MESSAGE = (
    *("message", "nachricht", "mensaje", "mensagem", "messaggio", "bericht", "meddelande"),
    *("сообщение", "e-mail"),
)
_FORWARD = ("forward", "weitergeleitet", "transféré", "reenviado", "inoltrat", "doorgestuurd")
_FROM = ("from:", "von:", "de:", "da:", "van:", "från:", "от:")
_SENT = ("sent:", "date:", "gesendet:", "datum:", "envoyé", "enviado", "inviato:", "verzonden:")
_SUBJECT = ("subject:", "betreff:", "objet", "asunto:", "assunto:", "oggetto:", "onderwerp:")
_FORWARDED = ("begin forwarded message:", "start of forwarded message:")
_OPENINGS = ("On ", "Am ", "Le ", "El ", "Il ", "Em ", "Op ", "Den ")
"""First words of "On 2 January, Ada wrote:" in languages that put the date first."""
_LEADS = ("----", *_FORWARDED, *_FROM, *(opening.casefold() for opening in _OPENINGS))
_RULE = re.compile(r"-{4,}+[^-].{2,80}?-{4,}+$")
_FOOTER = re.compile(r"_{40,}+$")
_DATES = re.compile(r",|\d++(?:[:./-]\d++)*+(?: ?[AaPp]\.?[Mm]\b)?+")
_LONGEST_NAME = 5
"""Words."""
_SENT_FROM = (
    *("sent from my ", "get outlook for ", "von meinem ", "envoyé de mon ", "enviado desde mi "),
)
_SIGNATURE_LINES = 12
_HEADER_LINES = 6
_ATTRIBUTION_LINES = 3
_LONGEST_LINE = 300


def passages(text: str) -> list[Passage]:
    """A text as passages in order; joined by line breaks they are the text."""
    lines = text.split("\n")
    kinds: list[tuple[Kind, str]] = [("own", "")] * len(lines)
    at = 0
    while at < len(lines):
        at = _mark(lines, kinds, at)
    found: list[Passage] = []
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or kinds[end] != kinds[start]:
            kind, author = kinds[start]
            found.append(Passage(kind, "\n".join(lines[start:end]), author))
            start = end
    return found


def _mark(lines: Sequence[str], kinds: list[tuple[Kind, str]], at: int) -> int:
    """Say what the line at `at` is, and those that belong to it; the first line after them."""
    line = lines[at].strip()[:_LONGEST_LINE]
    if line.startswith(">"):
        # Lines with `>` before them, and the line above that says whose they are.
        end = at
        while end < len(lines) and lines[end].lstrip().startswith(">"):
            end += 1
        # Where "On 2 January, Ada wrote:" starts above a quotation, and who wrote.
        last = at - 1
        while last >= max(at - 2, 0) and not lines[last].strip():
            last -= 1
        if last < 0 or not _is_attribution(lines[last]) or kinds[last][0] != "own":
            start, author = at, ""
        else:
            above = range(last, max(last - _ATTRIBUTION_LINES, -1), -1)
            first = next((i for i in above if _opens(lines[i]) and kinds[i][0] == "own"), last)
            if first == last > 0 and lines[last - 1].rstrip().endswith((",", "<")):
                first = last - 1
            start, author = first, _author(" ".join(lines[first : last + 1]))
        if not author:
            inner = [line.lstrip().removeprefix(">").lstrip() for line in lines[at:end]]
            # Unless what is named there is quoted in turn.
            author = "" if any(line.startswith(">") for line in inner) else _author_below(inner, 0)
        kinds[start:end] = [("reply", author)] * (end - start)
        return end
    if (kind := _separator(lines, at, line)) is not None:
        author = _author_below(lines, at)
        end = next((i for i in range(at + 1, len(lines)) if _is_separator(lines, i)), len(lines))
        kinds[at:end] = [(kind, author)] * (end - at)
        return end
    if line == "--" or _FOOTER.match(line) or line.casefold().startswith(_SENT_FROM):
        end = _signature_end(lines, at)
        kinds[at:end] = [("signature", "")] * (end - at)
        return max(end, at + 1)
    return at + 1


def _opens(line: str) -> bool:
    return line.lstrip().startswith(_OPENINGS)


def _is_attribution(line: str) -> bool:
    short = line.strip()[-_LONGEST_LINE:].casefold()
    return short.endswith((":", "：")) and any(word in short for word in _WROTE)


def _author(attribution: str) -> str:
    """The name in "On Thu, 2 Jan 2020 at 10:00, Ada Ray <ada@x.org> wrote:"; else its address."""
    text = attribution[-_LONGEST_LINE:].rstrip(" :：")
    verb = next((w for w in _WROTE if text.casefold().endswith(w)), "")
    text = text[: len(text) - len(verb)].strip().rstrip(",")
    before, _, address = text.partition("<")
    name = text_field(_DATES.split(before)[-1]).strip("\"' ")
    verb = next((f"{w} " for w in _WROTE if name.casefold().startswith(f"{w} ")), "")
    name = name[len(verb) :]
    if len(name.split()) > _LONGEST_NAME:
        name = ""
    return name.strip("<> ") or address.strip("<> ").casefold()


def _separator(lines: Sequence[str], at: int, line: str) -> Kind | None:
    """Whether all that follows is another message, and why it is there."""
    low = line.casefold()
    if not low.startswith(_LEADS):
        return None
    if _RULE.match(low) and any(word in low for word in _MESSAGE):
        return "forward" if any(word in low for word in _FORWARD) else "reply"
    if low in _FORWARDED:
        return "forward"
    if low.startswith(_FROM):
        below = [one.strip().casefold() for one in lines[at + 1 : at + _HEADER_LINES]]
        named = (any(one.startswith(names) for one in below) for names in (_SENT, _SUBJECT))
        return "reply" if all(named) else None
    if _opens(line) and _is_attribution(line) and any(letter.isdigit() for letter in line):
        below = [one for one in lines[at + 1 : at + 3] if one.strip()]
        return "reply" if below and not below[0].lstrip().startswith(">") else None
    return None


def _is_separator(lines: Sequence[str], at: int) -> bool:
    """Whether another message begins here; the field that follows a rule belongs to the rule."""
    line = lines[at].strip()[:_LONGEST_LINE]
    if not line.casefold().startswith(_FROM):
        return _separator(lines, at, line) is not None
    above = (one.strip()[:_LONGEST_LINE] for one in lines[max(at - 3, 0) : at])
    is_within = any(_RULE.match(one) or one.casefold().startswith("begin ") for one in above)
    return not is_within and _separator(lines, at, line) is not None


def _author_below(lines: Sequence[str], at: int) -> str:
    """The sender that the fields of a quoted message name."""
    if _is_attribution(lines[at]):
        return _author(lines[at])
    for line in lines[at : at + _HEADER_LINES]:
        if line.strip().strip("*").casefold().startswith(_FROM):
            value = line.partition(":")[2].partition("[mailto:")[0].strip(" *")[:_LONGEST_LINE]
            named = next(iter(people(value)), None)
            return (named.name or named.address) if named else ""
    return ""


def _signature_end(lines: Sequence[str], at: int) -> int:
    """Where a signature ends: at a quotation or at the end; `at` itself where it is too long."""
    for end in range(at + 1, min(at + 1 + _SIGNATURE_LINES, len(lines) + 1)):
        if end == len(lines) or lines[end].startswith(">") or _is_separator(lines, end):
            return end
        if _is_attribution(lines[end]):
            return end
    return at
