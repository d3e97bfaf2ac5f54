"""Meaning representations: which values a record holds, and where each stands in it.

inform(name='red door', area=centre)    name[Red Door], area[centre]    Red_Door | area | centre
[['Red Door', 'area', 'centre']]        name: Red Door                  request(area)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_QUOTED = r"""'(?:[^'\\]|\\.)*'(?=\s*[,\]])|"(?:[^"\\]|\\.)*\""""
_TRIPLE = re.compile(rf"\[\s*({_QUOTED})\s*,\s*({_QUOTED})\s*,\s*({_QUOTED})\s*\]")
_BAR = re.compile(r"^([^|\n]+)\|([^|\n]+)\|([^|\n]+)$", re.MULTILINE)
_BRACKET = re.compile(r"(\w[\w /-]*)\[([^\]]*)\]")
_ACT = re.compile(r"""\??\w+\(((?:'[^']*'|"[^"]*"|[^()'"])*)\)""")
_PAIR = re.compile(r"""([^=,;]+?)\s*=\s*('[^']*'|"[^"]*"|[^,;]*)|([^=,;]+)""")
_LINE = re.compile(r"^ *(\w[\w ]{0,39})[:=](.+)$", re.MULTILINE)
_BETWEEN = re.compile(r"[\s,;&\[\]]*")
_MARKS = "'\" "
LONGEST = 5_000
"""Characters. What is longer is a text, and the forms below would look at it too often."""


class Value(NamedTuple):
    slot: str
    text: str
    """Empty where the record asks for a slot and gives no value."""
    start: int
    end: int
    """Its place in the record; that of the slot where there is no value."""


def record_values(record: str) -> list[Value]:
    """Nothing where the record has none of the known forms, as prose has not."""
    if len(record) > LONGEST:
        return []
    for form, read in _FORMS:
        if form.search(record) and _BETWEEN.fullmatch(form.sub("", record)):
            return list(dict.fromkeys(read(form, record)))
    return []


def _triples(form: re.Pattern[str], record: str) -> Iterator[Value]:
    """A subject is said once, however many triples are about it."""
    subject = None
    for match in form.finditer(record):
        if match.group(1) != subject:
            yield _value("name", match, 1)
        subject = match.group(1)
        yield _value(match.group(2), match, 3)


def _pairs(form: re.Pattern[str], record: str) -> Iterator[Value]:
    yield from (_value(match.group(1), match, 2) for match in form.finditer(record))


def _acts(form: re.Pattern[str], record: str) -> Iterator[Value]:
    for act in form.finditer(record):
        for match in _PAIR.finditer(record, act.start(1), act.end(1)):
            if match.group(3) is None:
                yield _value(match.group(1), match, 2)
            elif match.group(3).strip():
                place = _value("", match, 3)
                yield Value(_plain(match.group(3)), "", place.start, place.end)


def _value(slot: str, match: re.Match[str], group: int) -> Value:
    """Without the quotation marks and blanks around it."""
    whole = match.group(group)
    inner = whole.strip(_MARKS)
    start = match.start(group) + len(whole) - len(whole.lstrip(_MARKS))
    return Value(_plain(slot), inner, start, start + len(inner))


def _plain(name: str) -> str:
    return name.strip(_MARKS).replace("_", " ")


_FORMS = ((_TRIPLE, _triples), (_BAR, _triples), (_BRACKET, _pairs), (_ACT, _acts), (_LINE, _pairs))
