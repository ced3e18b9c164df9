"""Indexing a calendar against the same texts as plain documents, as a ratio in one run.

    uv run python -m benchmarks.calendar_index [--events 10000] [--series 200] [--model]

Without `--model` the embedder is a hash, so that reading and extraction weigh all there is.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import clew
from clew.indexing.reading.common import RawFile
from clew.plugins.personal.calendar import read_calendar
from clew.settings import ReadSettings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Document

WORDS = "plan review budget hall boat sensor leaflet pier chart launch call visit test talk".split()
FIRST = "Ada Bo Cleo Dan Eva Finn Gro Hal Ida Jon Kim Lea Max Nia Ole Pia Quin Rea Sam Tia".split()
LAST = "Morn Lind Hale Rowe Fenn Kaya Nair Baker Weber Duarte Iqbal Novak".split()
RULES = ("FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=MONTHLY;BYDAY=2TU", "FREQ=DAILY;COUNT=30", "FREQ=YEARLY")


def calendar(events: int, series: int) -> bytes:
    """A calendar of so many events, so many of them series."""
    chosen = random.Random(7)
    people = [f"{first} {last}" for first in FIRST for last in LAST]
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0"]
    for number in range(events):
        start = datetime(2022, 1, 3, 8) + timedelta(hours=chosen.randrange(24 * 900))
        title = " ".join(chosen.sample(WORDS, 3)).capitalize()
        lines += [
            "BEGIN:VEVENT",
            f"UID:{number}@x.example",
            f"SUMMARY:{title} {number}",
            f"DTSTART;TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}",
            f"DTEND;TZID=Europe/Berlin:{start + timedelta(hours=1):%Y%m%dT%H%M%S}",
            f"LOCATION:Room {chosen.randrange(30)}",
            f"DESCRIPTION:{' '.join(chosen.choices(WORDS, k=25)).capitalize()}.",
        ]
        for name in chosen.sample(people, 3):
            address = name.lower().replace(" ", ".")
            lines.append(f"ATTENDEE;CN={name}:mailto:{address}@x.example")
        if number < series:
            lines.append(f"RRULE:{chosen.choice(RULES)}")
        lines.append("END:VEVENT")
    return "\r\n".join([*lines, "END:VCALENDAR", ""]).encode()


def main() -> None:
    """Index both, the plain documents first, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--model", action="store_true", help="embed by the real model")
    given = parser.parse_args()
    data = calendar(given.events, given.series)
    found = read_calendar(RawFile(source="x", data=data, settings=ReadSettings()))
    assert found is not None
    plain = [Document(source=one.source, text=one.text, title=one.title) for one in found.documents]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.ics"
        file.write_bytes(data)
        seconds = {}
        for name, packs in (("plain", []), ("calendar", ["personal"])):
            embedder = None if given.model else HashEmbedder()
            settings = load_settings(store=Path(folder) / name)
            with clew.open(settings=settings, packs=packs, embedder=embedder) as store:
                store.add("Warm.", source="warm")
                started = time.perf_counter()
                if packs:
                    report = store.index([file])
                else:
                    report = store.add_documents([replace(one) for one in plain])
                seconds[name] = time.perf_counter() - started
                assert report.added == given.events, report
                if packs:
                    started = time.perf_counter()
                    call = {"time_range": "2024-03-04..2024-03-10"}
                    asked = store.tools.call("calendar_query", call).content
                    seconds["question"] = time.perf_counter() - started
    print(f"{given.events:,} events, {given.series} series, {len(data) / 1e6:.1f} MB")
    print(f"plain {seconds['plain']:.1f} s, calendar {seconds['calendar']:.1f} s,")
    print(f"ratio {seconds['calendar'] / seconds['plain']:.2f}")
    print(f"a week of it: {asked['event_count']} events in {seconds['question'] * 1000:.0f} ms")


if __name__ == "__main__":
    main()
