"""Windows of people's files with what is known of their names and facts.

`sentences.jsonl` beside this file has sentences with all their names and all facts between two of
them: `spans` are the names that patterns found (characters), `kinds` what each names, `missed`
further names. `chosen.jsonl` has more of them, of which an earlier tagger was least sure: they are
learned from, and nothing is judged by them. `facts.jsonl` has facts alone, `entities.jsonl` what
names of whole documents name.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import everyday
from benchmarks.real.extracted import documents_of, steps_of
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.models.tagger import Tokens, Window, encode, windows
from clew.models.wordpiece import Tokenizer
from clew.ports import EITHER_WAY, KINDS, RELATIONS
from clew.text import entity_key
from clew.types import CharRange, Chunk, Document, Extraction
from training.reader import worlds

LABELS, SENTENCES, FACTS, CHOSEN = (
    Path(__file__).with_name(f"{name}.jsonl")
    for name in ("entities", "sentences", "facts", "chosen")
)
LETTERS = dict(zip("-PLORWEC", KINDS, strict=True)) | {"D": ""}
MOST_PLACES = 6
"""Places of a labelled entity in a document that are learned from."""

Facts = dict[tuple[CharRange, CharRange], str]
Place = tuple[int, int]
"""Tokens: the first one, and the one behind the last."""
Pair = tuple[Place, Place]
SAID_AS = {"child_of": "parent_of", "works_in": "works_at"}
"""Relations of the labels by those that the tagger knows; the first the other way round."""


@dataclass
class Example:
    """A window with what is known of it."""

    folder: str
    tokens: Tokens
    kinds: dict[Place, int]
    """Class by tokens of a name."""
    pairs: dict[Pair, int]
    """Relation by the tokens of two names, in order; 0: none is stated."""
    whole: list[Place]
    """Tokens of the sentences of which all names are known."""


class Recorder(PatternExtractor):
    """Keeps the chunks of each document with what patterns find there."""

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> Extraction:
        """Return what patterns alone find."""
        self.chunks, self.found = chunks, self.read(document, chunks)
        return self.found


@dataclass
class Told:
    """What is known of one sentence."""

    kinds: dict[CharRange, int] = field(default_factory=dict)
    """-1: a name, of which nobody said what it names."""
    facts: Facts | None = None
    whole: bool = False


Rows = dict[str, dict[str, list[dict[str, Any]]]]
"""Labelled sentences by folder and title of the document."""


def read_examples(tokenizer: Tokenizer, real: Path | None, train: Path | None) -> Iterator[Example]:
    """Yield the windows of all folders of which something is known.

    Folders that are not there are passed over: those of `benchmarks.real.fetch` below `real`, and
    the data sets `train`.
    """
    extractor = Recorder()
    steps = replace(steps_of(), extractor=extractor)
    labels, rows = read_labels(), read_rows()
    with tempfile.TemporaryDirectory() as made:
        for folder in sorted(labels.keys() | rows.keys()):
            place = folder_of(folder, Path(made), real)
            documents = [one for _, one in documents_of(place)] if place else []
            known = rows.get(folder, {})
            if folder.startswith("train/") and train:
                documents, known = passages(train, folder, known[""])
            for document in documents:
                steps.prepare(document)
                for text, title, told in tell(
                    document, extractor, labels.get(folder, {}), known.get(document.title, ())
                ):
                    for window in windows(text, sorted(told), tokenizer):
                        one = make(folder, tokenizer, title, text, window, told)
                        if one.kinds or one.pairs:
                            yield one


def read_labels() -> dict[str, dict[str, str]]:
    """Return by folder and key what a name names; empty where nothing."""
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    for line in LABELS.read_text("utf-8").splitlines():
        one = json.loads(line)
        labels[one["folder"]][entity_key(one["name"])] = one["kind"] or ""
    return labels


def read_rows(files: Sequence[Path] = (SENTENCES, FACTS, CHOSEN)) -> Rows:
    """Return the labelled sentences."""
    invented = {path.stem for path in Path(everyday.__file__).parent.glob("*.jsonl")}
    rows: Rows = defaultdict(lambda: defaultdict(list))
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            one = json.loads(line)
            group = "everyday" if one["folder"] in invented else "worlds"
            folder = one["folder"] if "/" in one["folder"] else f"{group}/{one['folder']}"
            rows[folder][one.get("title", "")].append(one)
    return rows


def folder_of(name: str, made: Path, real: Path | None) -> Path | None:
    """Return the folder of that name; that of an invented world is written into `made`."""
    group, _, rest = name.partition("/")
    if group == "train":
        return None
    if group == "real":
        return real and real / rest
    if group == "everyday":
        return Path(everyday.__file__).with_name(rest)
    folder = made / rest
    folder.mkdir()
    world = json.loads((Path(worlds.__file__).with_suffix("") / f"{rest}.json").read_text("utf-8"))
    for note in world["notes"]:
        title = re.sub(r"[^\w .()&,'-]", "_", note["title"])[:90]
        file = folder / (title if "." in title[-6:] else f"{title}.md")
        file.write_text(note["text"], encoding="utf-8")
    return folder


def passages(
    train: Path, folder: str, rows: Sequence[dict[str, Any]]
) -> tuple[list[Document], dict[str, list[dict[str, Any]]]]:
    """Return the passages of a data set that hold labelled sentences, and these by title."""
    file = train / f"{folder.removeprefix('train/')}.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        asked = {one["id"]: one["positives"] for one in map(json.loads, lines)}
    documents: list[Document] = []
    known: dict[str, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        which, at = row["passage"]
        passage = asked[which][at]
        # The title tells which sentence is meant.
        title = passage["title"] or f"{number}"
        documents.append(Document(source="text.txt", title=title, text=passage["text"]))
        sentence = passage["text"][slice(*row["at"])]
        known.setdefault(title, []).append({**row, "sentence": sentence})
    return documents, known


def tell(
    document: Document,
    extractor: Recorder,
    labels: Mapping[str, str],
    rows: Sequence[dict[str, Any]],
) -> Iterator[tuple[str, str, dict[CharRange, Told]]]:
    """Yield texts of a document with their title, and what is known of each of their sentences."""
    if (key := entity_key(document.title)) in labels:
        whole = (0, len(document.title))
        yield document.title, "", {whole: Told({whole: KINDS.index(labels[key])})}
    seen: Counter[str] = Counter()
    for chunk, said in zip(extractor.chunks, extractor.found.chunks, strict=True):
        told: dict[CharRange, Told] = defaultdict(Told)
        for mention in said.mentions:
            key = entity_key(mention.name)
            if key in labels and seen[key] < MOST_PLACES:
                seen[key] += 1
                one = told[said.sentences[mention.sentence]]
                one.kinds[mention.start, mention.end] = KINDS.index(labels[key])
        for row in rows:
            at = chunk.text.find(row["sentence"])
            if at >= 0:
                add(told[at, at + len(row["sentence"])], row, at)
        # The others stand around them, as they do wherever the tagger reads.
        beside = [
            (first, last)
            for first, last in said.sentences
            if not any(start < last and first < end for start, end in told)
        ]
        yield chunk.text, document.title, told | dict.fromkeys(beside, Told())


def add(told: Told, one: Mapping[str, Any], at: int) -> None:
    """Add what a labelled sentence, which begins at a character, says."""
    text: str = one["sentence"]

    def spot(name: str) -> CharRange | None:
        begin = text.find(name)
        return (at + begin, at + begin + len(name)) if name and begin >= 0 else None

    if "spans" in one:
        told.whole = True
        for (start, end), letter in zip(one["spans"], one["kinds"], strict=True):
            told.kinds[at + start, at + end] = KINDS.index(LETTERS[letter])
        for name, letter in one.get("missed", ()):
            if place := spot(name):
                told.kinds[place] = KINDS.index(LETTERS[letter])
    else:
        for name in one["names"]:
            if place := spot(name):
                told.kinds.setdefault(place, -1)
    told.facts = told.facts or {}
    for head, relation, tail in one["facts"]:
        if (first := spot(head)) and (second := spot(tail)) and first != second:
            told.facts[first, second] = relation


def make(
    folder: str,
    tokenizer: Tokenizer,
    title: str,
    text: str,
    window: Window,
    told: Mapping[CharRange, Told],
) -> Example:
    """Return a window with its labels by tokens."""
    tokens = encode(tokenizer, title, text, window)
    made = Example(folder, tokens, {}, {}, [])
    for at in window.sentences:
        one = told[at]
        found = {spot: tokens.place(*spot) for spot in one.kinds}
        places = {spot: place for spot, place in found.items() if place}
        made.kinds |= {
            places[s]: kind for s, kind in one.kinds.items() if s in places and kind >= 0
        }
        if one.whole and (place := tokens.place(*at)):
            made.whole.append(place)
        if one.facts is not None:
            made.pairs |= related(one, places, one.facts)
    return made


def related(one: Told, places: Mapping[CharRange, Place], facts: Facts) -> dict[Pair, int]:
    """Return for all pairs of names of a sentence what is stated of them, by their tokens."""
    ends = {spot for pair in facts for spot in pair}
    known = [place for spot, place in places.items() if one.kinds[spot] != 0 or spot in ends]
    pairs = {(a, b): 0 for a in known for b in known if a[1] <= b[0]}
    stated = (
        numbered(places[head], relation, places[tail])
        for (head, tail), relation in facts.items()
        if head in places and tail in places
    )
    return pairs | dict(stated)


def numbered(head: Place, relation: str, tail: Place) -> tuple[Pair, int]:
    """Return two names in order, and the number of the relation of the first to the second."""
    if relation == "child_of":
        head, tail = tail, head
    relation = SAID_AS.get(relation, relation)
    relation = relation if relation in RELATIONS else ""
    if head[0] <= tail[0]:
        return (head, tail), RELATIONS.index(relation)
    back = relation if relation in EITHER_WAY or not relation else f"{relation}<"
    return (tail, head), RELATIONS.index(back)
