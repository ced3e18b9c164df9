"""What `benchmarks.records` reads: three corpora, and files of as many formats as there are.

They are kept with the records, so that later records are of the same texts even where the
repository's own documents and the data sets have changed since.
"""

from __future__ import annotations

import json
import mailbox
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx

ROOT = Path(__file__).resolve().parent.parent
SETS = {"musique": 30, "2wikimultihopqa": 30, "cranfield": 20}
"""Data sets in the BEIR layout, and how many of their questions are asked."""
PASSAGES = 150
"""Documents of each."""
OF_AN_ENDING = 3
"""Files taken of each ending."""
CHARACTERS = 40_000
"""Larger files take too long."""

TEXTS = {
    "plan.txt": "The harbour plan\n\nAda Ray leads the harbour works at Orle since March 2021. "
    "Bob Stone founded Stone & Sons in 1998.\n\nThe crane of Orle was built by Stone & Sons.\n",
    "vault.md": "---\ntitle: Orle harbour\naliases: [Orle]\ntags: [harbour, works]\n"
    "date: 2021-03-04\n---\n# Orle harbour\n\nSee [[Ada Ray]] and [the crane](crane.md). #quay\n\n"
    "## History\n\nOrle was founded in 1620.\n\n- The mole was built by Lukas Orne.\n"
    "- Lukas Orne was born in Pell.\n\n| ship | owner |\n| --- | --- |\n"
    "| Kestrel | Sefton Hale |\n",
    "page.html": "<html lang='en'><head><title>Crane 4 – Orle</title><meta name='author' "
    "content='Ada Ray'><meta name='date' content='2021-05-06'></head><body><nav><a href='/'>Home"
    "</a></nav><main><h1>Crane 4</h1><p>Crane 4 was made by Stone &amp; Sons in 1999.</p><table>"
    "<tr><th>part</th><th>maker</th></tr><tr><td>hook</td><td>Pell Forge</td></tr>"
    "</table></main></body></html>",
    "staff.csv": "name,role,works at,since\nAda Ray,engineer,Orle Harbour,2021-03-01\n"
    "Bob Stone,director,Stone & Sons,1998-01-01\nCara Field,crane driver,Orle Harbour,2022\n",
    "parts.tsv": "part\tmaker\tprice\nhook\tPell Forge\t120\nrope\tWend Mill\t40\n",
    "ships.json": '[{"name": "Kestrel", "owner": "Sefton Hale", "built": 1909},'
    ' {"name": "Silvan", "owner": {"name": "Greta Sool", "home": "Wendmoor"}}]',
    "events.jsonl": '{"date": "2021-05-06", "text": "Cara Field joined Orle Harbour."}\n'
    '{"date": "2022-07-08", "text": "Cara Field left Orle Harbour for Pell Forge."}\n',
    "memory.jsonl": '{"type": "entity", "name": "Ada Ray", "entityType": "person", '
    '"observations": ["Keeps bees."]}\n{"type": "entity", "name": "Orle Harbour", '
    '"entityType": "organisation", "observations": []}\n{"type": "relation", "from": "Ada Ray", '
    '"to": "Orle Harbour", "relationType": "works_at"}\n',
    "settings.yaml": "harbour:\n  name: Orle\n  cranes:\n    - {id: 4, maker: Stone & Sons}\n",
    "settings.toml": '[harbour]\nname = "Orle"\nmaster = "Ada Ray"\n',
    "letter.eml": "From: Ada Ray <ada@orle.example>\nTo: Bob Stone <bob@stone.example>\n"
    "Subject: The hook\nDate: Thu, 06 May 2021 09:00:00 +0000\nMessage-ID: <1@orle.example>\n\n"
    "Dear Bob,\n\nThe hook of crane 4 is cracked. Pell Forge can deliver by 20 May 2021.\n\nAda\n",
    "calendar.ics": "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x//y//EN\nBEGIN:VEVENT\nUID:1\n"
    "DTSTART:20210510T090000Z\nDTEND:20210510T100000Z\nSUMMARY:Crane meeting\nLOCATION:Orle\n"
    "ATTENDEE;CN=Bob Stone:mailto:bob@stone.example\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT\n"
    "BEGIN:VTODO\nUID:2\nSUMMARY:Order a hook\nDUE:20210520\nSTATUS:NEEDS-ACTION\nEND:VTODO\n"
    "END:VCALENDAR\n",
    "contacts.vcf": "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Ray\nN:Ray;Ada;;;\nORG:Orle Harbour\n"
    "EMAIL:ada@orle.example\nEND:VCARD\nBEGIN:VCARD\nVERSION:4.0\nFN:Bob Stone\nORG:Stone & Sons\n"
    "TEL:+44 1\nEND:VCARD\n",
    "papers.bib": "@article{ray2019, title={Cranes of the north}, "
    "author={Ray, Ada and Stone, Bob}, journal={Harbour Letters}, year={2019}, "
    'doi={10.1000/1}}\n@book{orne, title="Moles", '
    'author="Lukas Orne", year=1911, publisher={Pell Press}}\n',
    "papers.ris": "TY  - JOUR\nTI  - Ropes under load\nAU  - Field, Cara\nPY  - 2020\n"
    "JO  - Harbour Letters\nER  - \n",
    "crane.1": '.TH CRANE 1 "May 2021" "Orle 2.1"\n.SH NAME\ncrane \\- lift what is heavy\n'
    ".SH SYNOPSIS\n.B crane\n[\\fB--load\\fR \\fIN\\fR]\n.SH DESCRIPTION\n.PP\n\\fBcrane\\fR was "
    "written by Ada Ray.\n.SH OPTIONS\n.TP\n.BR --load\nTons, at most.\n",
    "guide.rst": "Crane guide\n===========\n\n:Author: Ada Ray\n:Date: 2021-06-07\n\nUse\n---\n\n"
    "The crane depends on the hook. See `the forge <https://pell.example>`_.\n",
    "guide.adoc": "= Rope guide\nCara Field\n2021-07-08\n\n== Use\n\n"
    "Ropes are made by Wend Mill.\n",
    "NEWS": "Version 2.1 (2021-05-06)\n\n* The crane turns left. (Ada Ray)\n\n"
    "Version 2.0 (2020-01-02)\n\n* First crane. (Bob Stone)\n",
    "minutes.md": "# Minutes, 10 May 2021\n\nPresent: Ada Ray, Bob Stone\n\n"
    "Ada: The hook is late.\n\n"
    "Bob: Pell Forge will deliver on 20 May.\n\nDecided: Cara Field tests the hook.\n",
    "_chat.txt": "[06/05/2021, 09:00:00] Ada Ray: The hook is cracked.\n"
    "[06/05/2021, 09:02:10] Bob Stone: Pell Forge makes a new one.\n"
    "[26/05/2021, 10:00:00] Ada Ray: It is in place.\n",
    "general/2021-05-06.json": '[{"type": "message", "user": "U1", "text": "The hook is <@U2>\'s",'
    ' "ts": "1620291600.000100", "user_profile": {"real_name": "Ada Ray"}}]',
    "commits.txt": "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: Ada Ray "
    "<ada@orle.example>\nDate:   Thu May 6 09:00:00 2021 +0000\n\n    Turn the crane left\n",
    "crane.py": '"""The crane of Orle."""\n\nfrom hook import Hook\n\n\nclass Crane(Base):\n'
    '    """Lifts."""\n\n    def lift(self, tons: int) -> None:\n        """Lift by the hook."""\n'
    "        Hook().pull(tons)\n",
    "crane.go": "package crane\n\n// Lift lifts.\nfunc Lift(tons int) { pull(tons) }\n",
    "crane.ts": "import { Hook } from './hook';\nexport class Crane { lift() { new Hook(); } }\n",
    "brief.de.txt": "Sehr geehrte Frau Ray,\n\ndie Firma Stahl GmbH wurde 1987 von Otto Brandt in "
    "Kiel gegründet. Der Haken kommt am 3. Juni 2021.\n",
    "lettre.fr.txt": "Madame,\n\nla société Lemaire, fondée en 1954 par Jean Lemaire à Nantes, "
    "livre le câble le 4 juin 2021.\n",
}


def make_inputs(folder: Path, bench: Path, more: list[Path]) -> None:
    """Write the questions and the documents of three data sets, and the files."""
    for name, count in SETS.items():
        write_set(bench / name, folder / name, count)
    library = folder / "library"
    for name, text in TEXTS.items():
        _at(library / "made" / name).write_text(text, encoding="utf-8", newline="")
    write_office(library / "made")
    for path in _some([ROOT / "docs", ROOT / "benchmarks" / "unsaid" / "files", *more]):
        shutil.copyfile(path, _at(library / "taken" / f"{path.parent.name}-{path.name}"))
    questions = list(write_notes(library / "notes"))
    (folder / "library.json").write_text(json.dumps(questions, indent=1), encoding="utf-8")


def write_set(source: Path, target: Path, count: int) -> None:
    """The first questions of a data set, the passages that answer them, and others."""
    asked = [json.loads(line) for line in _lines(source / "queries.jsonl")][:count]
    kept = {one["_id"] for one in asked}
    gold = {
        row[1] for row in map(str.split, _lines(source / "qrels" / "test.tsv")) if row[0] in kept
    }
    passages = [json.loads(line) for line in _lines(source / "corpus.jsonl")]
    passages.sort(key=lambda one: one["_id"] not in gold)
    for number, one in enumerate(passages[:PASSAGES]):
        path = _at(target / f"{number:03}.md")
        path.write_text(f"# {one.get('title') or number}\n\n{one['text']}\n", encoding="utf-8")
    questions = [one["text"] for one in asked]
    target.with_suffix(".json").write_text(json.dumps(questions, indent=1), encoding="utf-8")


def write_notes(target: Path) -> Iterator[str]:
    """The notes of the strategies' tests as Markdown; yields their questions."""
    for corpus in sorted((ROOT / "tests" / "corpora").glob("*.jsonl")):
        for number, one in enumerate(map(json.loads, _lines(corpus))):
            if "question" in one:
                yield one["question"]
            elif "text" in one:
                path = _at(target / corpus.stem / f"{number:02}.md")
                date = f"date: {one['created_at']}\n" if "created_at" in one else ""
                path.write_text(
                    f"---\ntitle: {one.get('title', number)}\n{date}---\n{one['text']}\n"
                )


def write_office(folder: Path) -> None:
    """Files that are no text: mailbox, Word, Excel, PowerPoint, PDF, EPUB."""
    box = mailbox.mbox(folder / "list.mbox")
    for number, (sender, text) in enumerate(
        (("Ada Ray", "Is the hook in?"), ("Bob Stone", "> Is the hook in?\n\nYes."))
    ):
        message = EmailMessage()
        message["From"] = f"{sender} <{sender[:3].lower()}@orle.example>"
        message["Subject"] = "Hook" if not number else "Re: Hook"
        message["Date"] = f"Fri, 0{number + 7} May 2021 09:00:00 +0000"
        message["Message-ID"] = f"<{number}@list.example>"
        if number:
            message["In-Reply-To"] = "<0@list.example>"
        message.set_content(text)
        box.add(message)
    box.close()
    word = docx.Document()
    word.core_properties.author = "Ada Ray"
    word.add_heading("Report on crane 4", 0)
    word.add_heading("Findings", 1)
    word.add_paragraph("The hook was made by Pell Forge. Cara Field tested it on 26 May 2021.")
    word.add_table(1, 2).rows[0].cells[0].text = "load"
    word.save(str(folder / "report.docx"))
    book = openpyxl.Workbook()
    for row in (
        ("ship", "berth", "since"),
        ("Kestrel", 4, "2021-05-06"),
        ("Silvan", 5, "2021-05-07"),
    ):
        book.active.append(row)
    book.save(folder / "berths.xlsx")
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Orle harbour"
    slide.placeholders[1].text = "Ada Ray leads the works."
    slides.save(str(folder / "talk.pptx"))
    pdf = fpdf.FPDF()
    pdf.set_title("Survey of the mole")
    for text in ("The mole of Orle was built by Lukas Orne in 1911.", "Cara Field surveyed it."):
        pdf.add_page()
        pdf.set_font("Helvetica", size=12)
        pdf.multi_cell(0, 8, text)
    pdf.output(str(folder / "survey.pdf"))
    with zipfile.ZipFile(folder / "novel.epub", "w") as epub:
        epub.writestr("mimetype", "application/epub+zip")
        epub.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
            '<rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
        )
        epub.writestr(
            "c.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Kestrel</dc:title>'
            "<dc:creator>Mira Dovan</dc:creator></metadata><manifest><item id='a' href='a.xhtml' "
            "media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine>"
            "</package>",
        )
        epub.writestr(
            "a.xhtml",
            "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>One</title></head><body>"
            "<h1>One</h1><p>Sefton Hale bought the Kestrel from a whaler.</p></body></html>",
        )


def _some(folders: list[Path]) -> Iterator[Path]:
    """A few small files of each ending, from anywhere in the folders."""
    by_ending: defaultdict[tuple[Path, str], list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.stat().st_size < CHARACTERS:
                by_ending[folder, path.suffix].append(path)
    for paths in by_ending.values():
        yield from paths[:: max(len(paths) // OF_AN_ENDING, 1)][:OF_AN_ENDING]


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def _at(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
