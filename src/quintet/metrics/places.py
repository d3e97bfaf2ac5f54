"""Which text goes where in a question, as a user writes it: `response:output; dialogue history:history`."""

from __future__ import annotations

from quintet.core.example import FIELDS
from quintet.errors import InputError, UnknownName

Place = tuple[str, str]
"""Label and field."""


def read_places(text: str, where: str) -> tuple[Place, ...]:
    """`response:output; dialogue history:history` as a user writes it; the output must be there and is put first."""
    places = []
    for part in text.split(";"):
        label, colon, field = (piece.strip() for piece in part.rpartition(":"))
        if not colon or not label:
            raise InputError(f"cannot read the segment {part.strip()!r}", where, "write LABEL:FIELD; LABEL:FIELD")
        if field not in FIELDS:
            raise UnknownName(f"field in the segments of {where}", field, FIELDS)
        places.append((label, field))
    if sum(field == "output" for _, field in places) != 1:
        raise InputError("the segments must name the field output once", where, "write for example text:output")
    return tuple(sorted(places, key=lambda place: place[1] != "output"))
