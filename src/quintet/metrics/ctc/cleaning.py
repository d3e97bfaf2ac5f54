"""What aligner D does to a text before it reads it, with the way back to the characters as they were."""

from __future__ import annotations

from dataclasses import dataclass

_STRAIGHT = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    places: tuple[int, ...]
    """For each character of `text`: where it stood before."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """text[start:end] in the original."""
        return (self.places[start], self.places[end - 1] + 1) if end > start else (0, 0)


def clean(text: str) -> Cleaned:
    """Straight quotes, one blank between words, line breaks kept, case folded, ends stripped (as CTC's package)."""
    characters: list[str] = []
    places: list[int] = []
    blank = -1
    for place, character in enumerate(text):
        if character == "\n":
            characters.append(character)
            places.append(place)
            blank = -1
        elif character.isspace():
            blank = place if blank < 0 else blank
        else:
            if blank >= 0 and characters and characters[-1] != "\n":
                characters.append(" ")
                places.append(blank)
            blank = -1
            folded = _STRAIGHT.get(character, character).casefold()
            characters += folded
            places += [place] * len(folded)
    first = next((i for i, c in enumerate(characters) if c != "\n"), len(characters))
    last = next((i for i in range(len(characters), first, -1) if characters[i - 1] != "\n"), first)
    return Cleaned("".join(characters[first:last]), tuple(places[first:last]))
