"""No model sees an emoji, and evidence still stands on the user's characters."""

from __future__ import annotations

from quintet.core.example import Example
from quintet.metrics.evaluator.alignment import document_back, plain_back
from quintet.metrics.evaluator.reading import read_document, read_output, read_plain, turns_of

SOURCE = "The bridge \U0001f309 closes. \U0001f631\nBuses run \u2764\ufe0f late."


def test_outputs_and_grounds_come_without_them() -> None:
    assert read_output("Nice work \U0001f389!").text == "Nice work!"
    assert read_output("\U0001f44d").text == "."
    assert read_document(SOURCE) == ("The bridge closes.", "Buses run late.")
    assert turns_of(Example("a", history=("Hi \U0001f642", "\U0001f44d\U0001f3fd")), 2) == ("Hi",)


def test_places_are_those_of_the_given_text() -> None:
    text = "Nice \U0001f389 work!"
    output = read_output(text)
    at = output.text.index("work")
    span = output.span(at, at + 4, 0.5, "word")
    assert text[span.start : span.end] == "work"
    joined = " ".join(read_document(SOURCE))
    for back, plain, given in ((document_back(SOURCE), joined, SOURCE), (plain_back(text), read_plain(text), text)):
        for word in plain.replace(".", "").replace("!", "").split():
            at = plain.index(word)
            assert given[slice(*back(at, at + len(word)))] == word
