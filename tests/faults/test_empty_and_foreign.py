"""F21: a source that holds nothing gives no score, and a text in a language that the models cannot read is said."""

from __future__ import annotations

import pytest

import quintet
from quintet.text.language import other_language

GERMAN = "Der Bürgermeister hat am Montag angekündigt, dass die Brücke nicht vor dem Sommer wieder geöffnet wird."
JAPANESE = "市長は月曜日、橋は夏まで再開されないと発表した。"
FRENCH = "Le maire a annoncé lundi que le pont ne serait pas rouvert avant l'été, et que les travaux sont en retard."
ENGLISH = "The mayor said on Monday that the bridge will not open before summer."


@pytest.mark.parametrize("source", ["", " \n", "\u3000"])
def test_f21_an_empty_source_gives_no_score(source: str) -> None:
    rows = [{"output": ENGLISH, "source": source}, {"output": ENGLISH, "source": ENGLISH}]
    found = quintet.score(rows, metrics="ctc-consistency", model="fake:embedder", cache=False)
    empty, full = found.to_dicts()
    assert empty["ctc-consistency"] is None
    assert full["ctc-consistency"] > 0
    assert any("empty source" in note for note in empty["notes"])
    assert found.means()["ctc-consistency"] == pytest.approx(full["ctc-consistency"], abs=1e-5)


@pytest.mark.parametrize("text", [GERMAN, JAPANESE, FRENCH, "Президент сказал, что мост закрыт до лета."])
def test_f21_other_languages_are_known(text: str) -> None:
    assert other_language(text)
    assert other_language(text * 1000)


@pytest.mark.parametrize(
    "text",
    [ENGLISH, "", "ok", "12 34 !!!", "name[The Eagle], eatType[coffee shop]", "Angela Merkel, Jean-Claude Juncker",
     "Los Angeles and Las Vegas are in the west.", "He said die Welt is a paper, und so on.", "x" * 500,
     "Le Monde reported on Tuesday.", "La La Land won the Oscar."],
)  # fmt: skip
def test_f21_english_is_not_taken_for_another(text: str) -> None:
    assert not other_language(text)


def test_f21_a_foreign_text_is_noted_where_a_bundled_model_reads_it() -> None:
    rows = [{"output": GERMAN}, {"output": ENGLISH}]
    found = quintet.score(rows, metrics=["gruen-focus", "response-length"], cache=False).to_dicts()
    assert len(found[0]["notes"]) == 1
    assert found[0]["notes"][0].startswith("other language")
    assert "notes" not in found[1]
