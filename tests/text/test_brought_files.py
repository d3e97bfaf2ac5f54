"""Punkt's parameters and WordNet from folders that a user brings."""

import math

import pytest

from quintet import load
from quintet.core.example import Example
from quintet.errors import InputError
from quintet.models.concepts import word_forms
from quintet.text.punkt import sentences_identity, splitter
from quintet.text.wordnet import WordNet, read_wordnet

TEXT = "He spoke to Adm. Hale. The fleet sailed at 5 a.m. on Monday. It was late."


@pytest.fixture
def punkt(tmp_path):
    pytest.importorskip("nltk")
    (tmp_path / "abbrev_types.txt").write_text("adm\na.m\n", encoding="utf-8")
    (tmp_path / "sent_starters.txt").write_text("the\n", encoding="utf-8")
    (tmp_path / "collocations.tab").write_text("a.m\ton\n", encoding="utf-8")
    (tmp_path / "ortho_context.tab").write_text("the\t46\nit\t46\n", encoding="utf-8")
    return tmp_path


def test_punkt_equals_nltk_with_the_same_parameters(punkt):
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    known = PunktParameters()
    known.abbrev_types, known.sent_starters, known.collocations = {"adm", "a.m"}, {"the"}, {("a.m", "on")}
    known.ortho_context.update({"the": 46, "it": 46})
    theirs = PunktSentenceTokenizer()
    theirs._params = known
    ours = splitter(f"punkt:{punkt}")(TEXT)
    assert [piece.text for piece in ours] == theirs.tokenize(TEXT)
    assert [TEXT[piece.start : piece.end] for piece in ours] == [piece.text for piece in ours]
    assert len(ours) == 3
    (punkt / "abbrev_types.txt").unlink()
    with pytest.raises(InputError, match=r"no file abbrev_types\.txt of Punkt"):
        splitter(f"punkt:{punkt}/.")


def test_metrics_of_unieval_and_gruen_cut_by_it_and_say_so(punkt):
    text = "The cat sat by the barn. Hale slept there."
    plain = load("gruen-redundancy").score([Example(text)])[0]["non-redundancy"]
    (punkt / "abbrev_types.txt").write_text("barn\n", encoding="utf-8")
    metric = load(f"gruen-redundancy:sentences=punkt:{punkt}")
    assert (plain.parts["sentences"], metric.score([Example(text)])[0]["non-redundancy"].parts["sentences"]) == (2, 1)
    assert f"|sentences:{sentences_identity(f'punkt:{punkt}')}|" in metric.signature
    asked = load(f"unieval-fact:model=fake:yes-no,sentences=punkt:{punkt}")
    assert len(asked.score([Example(text, source="x")])[0]["consistency"].spans) == 1
    assert "|sentences:rules|" in load("gruen").signature
    with pytest.raises(InputError, match="sentences=punkt:FOLDER"):
        load("unieval-fact:sentences=spacy").prepare()


def wordnet(folder):
    """One synset of nouns, one of verbs, in WordNet's own format; offsets are bytes."""
    head = "  1 A line of the licence\n"
    lines = {
        "noun": ("n", [["car", "auto", "motor_car"], ["dog", "hound"]]),
        "verb": ("v", [["buy", "purchase"]]),
        "adj": ("a", []),
        "adv": ("r", []),
    }
    for part, (letter, synsets) in lines.items():
        data, index = head, {}
        for words in synsets:
            index.update(dict.fromkeys(words, len(data)))
            named = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 03 {letter} {len(words):02x} {named} 000 | gloss  \n"
        (folder / f"data.{part}").write_text(data, encoding="utf-8")
        listed = "".join(f"{word} {letter} 1 0 1 0 {place:08d}  \n" for word, place in sorted(index.items()))
        (folder / f"index.{part}").write_text(head + listed, encoding="utf-8")
    (folder / "verb.exc").write_text("bought buy\n", encoding="utf-8")
    return folder


def test_synonyms_of_base_forms(tmp_path):
    known = read_wordnet(str(wordnet(tmp_path)))
    assert known.synonyms("auto") == {"auto", "car"}
    assert known.synonyms("cars") == {"cars", "car", "auto"}
    assert known.synonyms("bought") == {"bought", "buy", "purchase"}
    assert known.synonyms("zebra") == {"zebra"}
    with pytest.raises(InputError, match="WordNet's folder"):
        read_wordnet(str(tmp_path / "elsewhere"))


def test_meteor_matches_synonyms_last(tmp_path):
    folder = wordnet(tmp_path)
    example = Example("he bought an auto", references=("he will purchase an car",))
    plain = load("meteor").score([example])[0]["meteor"]
    metric = load(f"meteor:wordnet={folder}")
    found = metric.score([example])[0]["meteor"]
    assert (plain.parts["p"], found.parts["p"]) == (0.5, 1.0)
    assert found.parts["r"] == 0.8
    # he | bought an auto ~ purchase an car: two chunks of four matches
    assert found.value == pytest.approx((1.0 * 0.8) / (0.9 + 0.1 * 0.8) * (1 - 0.5 * (2 / 4) ** 3))
    assert "wordnet@" in metric.signature


def test_a_word_is_what_it_mostly_is_in_wordnet(tmp_path):
    folder = wordnet(tmp_path)
    (folder / "index.sense").write_text(
        "buy%2:40:00:: 00000000 1 9\npurchase%2:40:00:: 00000000 1 2\ndog%1:05:00:: 00000000 1 5\n", encoding="utf-8"
    )
    turns = ["They bought two dogs.", "no", "no", "no"]
    found = word_forms(turns, WordNet(folder))
    assert set(found) == {"bought", "dogs"}
    assert found["bought"] == ("buy", pytest.approx(1.0 * math.log10(4 / 2)))
    assert found["dogs"] == ("dog", pytest.approx(2.0 * math.log10(4 / 2)))
    assert word_forms(turns, None)["dogs"] == ("dogs", pytest.approx(2.0 * math.log10(4 / 2)))
