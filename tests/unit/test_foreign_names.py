"""Names in languages other than English: what a capital shows there."""

from __future__ import annotations

import time

import pytest

from clew.indexing.isolation.worker import Steps
from clew.settings import Settings
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from clew.wiring import make_extractor

GERMAN = """Die Werft in Travemünde baut seit dem Jahr 1921 Schiffe aus Stahl.
Der Ingenieur Holger Brandt leitet die Werft; Frau Ostermann führt die Bücher.
Führen Sie den Hebel nach oben. Wenn ja, rufen Sie Herrn Kessler an.
Der Rest des Systems läuft unter Xenia. Für Xenia gibt es ein Handbuch, und mit Xenia fährt es gut.
Das Programm FairLog schreibt ein Protokoll. Weitere Hinweise stehen im Handbuch der Firma.
Bei Problemen mit dem Antrieb hilft die Abteilung. Mit Hilfe der Pumpe wird das Schiff gehoben.
Auf den Schiffen gilt das Gesetz der See. Laut Plan ist Otto von Bismarck dort gewesen.
Installation und Wartung sind Sache der Besatzung. In der Regel kostet die Fahrt Geld.
"""
FRENCH = """Le chantier de Travemünde construit des bateaux depuis longtemps.
Ensuite, Claire Delmas a repris la maison avec Marc. Installez la pompe avant le départ.
Lorsque Marc est parti, Claire a vendu le bateau. Pour cela elle a écrit à la mairie.
L'écrivain Jules Morand habite là. Vous installez la pompe. Les bateaux partent de Nantes.
"""
SPANISH = """El barco sale de Cartagena cada mañana. Después, Elena Rojas abre la puerta.
Cuando llega el viento, los marineros esperan. Para entrar en el puerto se necesita un permiso.
Sin embargo, Rojas no tiene prisa. Instale la bomba. Se instale o no, funciona.
"""
ITALIAN = """Il traghetto parte da Livorno ogni mattina. Quando arriva Paolo Ferri, è aperto.
Inoltre la nave è vecchia e il porto è piccolo. Questo non è un problema per Ferri.
Per entrare serve un permesso, e nella casa di Ferri non c'è nessuno. Così finisce la storia.
"""
PEOPLE = {"Holger Brandt", "Ostermann", "Kessler", "Otto von Bismarck"}


def names(language: str, text: str) -> set[str]:
    settings = Settings()
    steps = Steps(
        tokens=HashEmbedder(),
        extractor=make_extractor(),
        split_settings=settings.split,
        limits=settings.limits,
    )
    prepared = steps.prepare(Document(source="a.txt", text=text, language=language))
    found = (mention for chunk in prepared.extraction.chunks for mention in chunk.mentions)
    return {mention.name for mention in found if mention.entity_type != "date"}


@pytest.mark.parametrize(
    ("language", "text", "there"),
    [
        ("de", GERMAN, {*PEOPLE, "Xenia", "FairLog"}),
        ("fr", FRENCH, {"Claire Delmas", "Marc", "Nantes", "Travemünde", "Jules Morand"}),
        ("es", SPANISH, {"Elena Rojas", "Cartagena"}),
        ("it", ITALIAN, {"Paolo Ferri", "Livorno"}),
    ],
)  # fmt: skip
def test_names_are_found_and_little_else(language: str, text: str, there: set[str]) -> None:
    found = names(language, text)
    assert there <= found
    parts = {part for name in there for part in name.split()}
    assert found - there <= parts  # a surname alone, at most


def test_english_texts_are_read_as_ever() -> None:
    text = "Holger Brandt of Acme Corp sails to Lisbon. The Installation failed in Regel."
    assert names("en", text) == names("", text)


def test_a_noun_with_a_capital_is_a_name_only_where_it_stands_bare() -> None:
    assert "Jolle" not in names("de", "Wir sehen die Jolle. Eine Jolle fährt. Mit Jolle und Boot.")
    assert "Jolla" in names("de", "Wir sehen Jolla. Dann fährt Jolla. Mit Jolla und dem Boot.")
    assert (
        names("de", "Wir hören von Paketen. Aus Paketen wird das Paket. Das Paket ist da.") == set()
    )


def test_a_company_keeps_its_name_behind_an_article() -> None:
    text = "Die Pumpe ist von der Krones AG. Sie kommt aus der Halle der Bosch GmbH in Passau."
    assert names("de", text) == {"Krones AG", "Bosch GmbH"}


@pytest.mark.parametrize("unit", ["Die Ä ", "Von Der ", "A-", "É'", "und ", "Xx-Xx ", "\u0301Ü "])
def test_hostile_texts_take_time_in_proportion(unit: str) -> None:
    took = []
    for size in (20_000, 80_000):
        started = time.perf_counter()
        names("de", unit * (size // len(unit)))
        took.append(time.perf_counter() - started)
    assert took[1] < 20 * max(took[0], 0.05)


def test_a_name_stays_one_where_an_address_or_a_command_writes_it_small() -> None:
    text = (
        "Los paquetes de Zorblax están en la red. Se instala con zorblax desde"
        " https://www.zorblax.org/zorblax/ o desde la red, y los usuarios de Zorblax lo saben. El"
        " sistema Zorblax es libre y el proyecto Zorblax también lo es para todos los usuarios."
    )
    assert "Zorblax" in names("es", text)
