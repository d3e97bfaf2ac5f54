"""Checks that pass (1) or fail (0): what people put beside scores to hold an output to a form.

What is expected comes from the check's parameter; without one, from the row's own references. A failed check says why
in its flag.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.flags import EMPTY_OUTPUT
from quintet.core.metric import Composite, Metric, Row
from quintet.core.parameters import build
from quintet.core.plain import Foreign
from quintet.core.registry import metrics
from quintet.core.score import Score
from quintet.errors import InputError, MissingExtra
from quintet.text.language import classifier
from quintet.text.sentences import sentences as split_sentences

SHOWN = 60
"""Characters of an expected text in a flag."""
PATTERN_SECONDS = 1.0
"""A regular expression may take a time that grows without bound with the text; after this it is given up."""


@dataclass(frozen=True)
class Check(Metric):
    """Passes or fails each output by `_passes`."""

    question = ""
    expects = ""
    """The parameter that says what is expected; without it, the references do."""

    @property
    def expected(self) -> str:
        return str(getattr(self, self.expects)) if self.expects else ""

    @property
    def from_references(self) -> bool:
        return bool(self.expects) and not self.expected

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (Dimension(self.name, self.question, ("references",) if self.from_references else ()),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{self.name: self._of(example)} for example in examples]

    def _of(self, example: Example) -> Score:
        wanted = [text for text in example.references if text.strip()] if self.from_references else [self.expected]
        if not wanted:
            return Score(0.0, flags=(f"{self.name}: nothing is expected",))
        reasons = [self._fault(example.output, text) for text in wanted]
        passed = not all(reasons) if self.any_of(wanted) else not any(reasons)
        return Score(1.0) if passed else Score(0.0, flags=(next(filter(None, reasons)),))

    def any_of(self, wanted: Sequence[str]) -> bool:
        """Whether one of several expected texts is enough."""
        return True

    def _fault(self, output: str, expected: str) -> str:
        """Why the output fails, or nothing."""
        raise NotImplementedError

    def _score_empty(self, example: Example) -> Row:
        return {self.name: Score(0.0, flags=(EMPTY_OUTPUT,))}


@dataclass(frozen=True)
class Exact(Check):
    text: str = ""
    ignore_case: bool = False

    name = "exact"
    question = "Is the output exactly the expected text?"
    expects = "text"

    def _fault(self, output: str, expected: str) -> str:
        same = _folded(output.strip(), self.ignore_case) == _folded(expected.strip(), self.ignore_case)
        return "" if same else f"is not {_shown(expected)}"


@dataclass(frozen=True)
class Contains(Check):
    text: str = ""
    """What must be there; several alternatives or parts are separated by `|`."""
    all: bool = False
    """All of several must be there, not just one."""
    ignore_case: bool = False

    name = "contains"
    question = "Is the expected text in the output?"
    expects = "text"

    def any_of(self, wanted: Sequence[str]) -> bool:
        return not self.all

    def _fault(self, output: str, expected: str) -> str:
        parts = [part for part in expected.split("|") if part] if self.text else [expected]
        lacking = [p for p in parts if _folded(p, self.ignore_case) not in _folded(output, self.ignore_case)]
        failed = lacking if self.all else lacking if len(lacking) == len(parts) else []
        return f"lacks {_shown(failed[0])}" if failed else ""


@dataclass(frozen=True)
class StartsWith(Check):
    text: str = ""
    ignore_case: bool = False

    name = "starts-with"
    question = "Does the output begin with the expected text?"
    expects = "text"

    def _fault(self, output: str, expected: str) -> str:
        start = _folded(expected.strip(), self.ignore_case)
        same = _folded(output.lstrip(), self.ignore_case).startswith(start)
        return "" if same else f"does not begin with {_shown(expected)}"


@dataclass(frozen=True)
class Regex(Check):
    pattern: str = ""
    whole: bool = False
    """The pattern must match the whole output, not just a part of it."""
    ignore_case: bool = False

    name = "regex"
    question = "Does the output match the pattern?"
    expects = "pattern"

    def prepare(self) -> None:
        if self.pattern:
            _compiled(self.pattern, self.ignore_case)

    def _fault(self, output: str, expected: str) -> str:
        try:
            pattern = _compiled(expected, self.ignore_case)
            found = (pattern.fullmatch if self.whole else pattern.search)(output, timeout=PATTERN_SECONDS)
        except InputError as error:  # a pattern from a row; `prepare` has seen the parameter's
            return f"the reference {error.what}"
        except TimeoutError:
            return f"{_shown(expected)} took longer than {PATTERN_SECONDS:g} s"
        return "" if found else f"does not match {_shown(expected)}"


@dataclass(frozen=True)
class JsonValid(Check):
    kind: Literal["any", "object", "list"] = "any"
    fenced: bool = True
    """JSON between Markdown's ``` counts, too."""

    name = "json-valid"
    question = "Is the output valid JSON?"

    def _fault(self, output: str, expected: str) -> str:
        value, fault = read_json(output, self.fenced)
        wanted = {"any": object, "object": dict, "list": list}[self.kind]
        return fault or ("" if isinstance(value, wanted) else f"JSON, but no {self.kind}")


@dataclass(frozen=True)
class JsonSchema(Check):
    schema: str = ""
    """A file that holds the schema, or the schema itself; without one, each row's reference is its schema."""
    fenced: bool = True

    name = "json-schema"
    question = "Is the output JSON as the schema asks?"
    expects = "schema"

    def prepare(self) -> None:
        _jsonschema()
        if self.schema:
            _validator(_read(self.schema))

    def model_identities(self) -> Mapping[str, str]:
        """The schema's content, not its name, is what the score depends on."""
        if not self.schema:
            return {}
        try:
            return {"schema": hashlib.sha256(_read(self.schema).encode("utf-8")).hexdigest()[:8]}
        except InputError:  # `prepare` says so before anything is scored
            return {"schema": "absent"}

    def _fault(self, output: str, expected: str) -> str:
        value, fault = read_json(output, self.fenced)
        if fault or self.schema:
            return fault or schema_fault(value, _read(self.schema))
        try:
            return schema_fault(value, expected)
        except InputError as error:
            return f"the reference {error.what}"


@dataclass(frozen=True)
class Length(Check):
    least: int = 1
    most: int | None = None
    unit: Literal["words", "characters", "sentences", "lines"] = "words"

    name = "length"
    question = "Is the output neither too short nor too long?"

    def _fault(self, output: str, expected: str) -> str:
        count = self._count(output)
        if count < self.least:
            return f"{count} {self.unit}, at least {self.least} are asked for"
        if self.most is not None and count > self.most:
            return f"{count} {self.unit}, at most {self.most} are allowed"
        return ""

    def _count(self, output: str) -> int:
        if self.unit == "characters":
            return len(output.strip())
        if self.unit == "sentences":
            return len(split_sentences(output))
        return len(output.split() if self.unit == "words" else output.strip().splitlines())


@dataclass(frozen=True)
class Language(Check):
    code: str = "en"
    """Two letters: en, de, ja."""

    name = "language"
    question = "Is the output in the expected language?"

    def prepare(self) -> None:
        classifier()

    def _fault(self, output: str, expected: str) -> str:
        found, sure = classifier()(output)
        return "" if found == self.code else f"looks like {found} (p = {sure:.2f}), not {self.code}"


_CANNOT = (
    r"(?:can(?:no|['’])t|cannot|(?:am|['’]m)\s+(?:unable|not\s+able)|won['’]t|will\s+not|(?:do\s+not|don['’]t)\s+have)"
)
_ACT = (
    r"(?:help|assist|provid|compl|fulfil|answer|shar|giv|creat|generat|writ|engag|discuss|support|do\s+(?:that|this))"
)
_REFUSALS = re.compile(
    "|".join(
        (
            rf"\b(?:sorry|afraid|apologi[sz]e)\b[^.!?]{{0,60}}?\b(?:i\s+)?{_CANNOT}",
            rf"\bi\s*{_CANNOT}\s+(?:to\s+)?(?:\w+ly\s+)?{_ACT}",
            r"\bi\s+(?:must|have\s+to)\s+(?:decline|refuse)\b",
            rf"\bas\s+an?\s+(?:ai|(?:large\s+)?language\s+model)\b[^.!?]{{0,60}}?\b{_CANNOT}",
            r"\b(?:against|violates?)\s+(?:my|our)\s+(?:guidelines|polic(?:y|ies)|programming|principles)",
        )
    ),
    re.IGNORECASE,
)
REFUSAL_WITHIN = 400
"""A refusal stands at the beginning; further on the same words are mostly about something else."""


@dataclass(frozen=True)
class Refusal(Check):
    """1 where the output declines to do what was asked, known by its phrases; English only."""

    name = "refusal"
    version = 1

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (Dimension(self.name, "Does the output refuse to do what was asked?", higher_is_better=False),)

    def _of(self, example: Example) -> Score:
        found = _REFUSALS.search(example.output[:REFUSAL_WITHIN])
        return Score(0.0) if found is None else Score(1.0, flags=(f"refuses: {_shown(found.group())}",))

    def _score_empty(self, example: Example) -> Row:
        return {self.name: Score(0.0, flags=(EMPTY_OUTPUT,))}


@dataclass(frozen=True)
class Threshold(Composite):
    """Passes where another metric's score reaches a value: `at-least:of=rouge-l,value=0.4`."""

    of: str = "rouge-l"
    value: float = 0.3
    most: bool = False
    """The score must be at most the value."""

    name = "at-least"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = self.ingredients[0].dimensions[0].needs
        return (Dimension(self.shown, f"Is {self.of} at {'most' if self.most else 'least'} {self.value:g}?", needs),)

    @property
    def shown(self) -> str:
        return "at-most" if self.most else "at-least"

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return (_built(self.of),)

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        (row,) = rows.values()
        score = next(iter(row.values()))
        passed = score.value <= self.value if self.most else score.value >= self.value
        return {self.shown: Score(float(passed), score.spans, {self.of: score.value}, score.flags, score.cut)}


@lru_cache
def _built(name: str) -> Metric:
    return build(metrics, name)


def read_json(text: str, fenced: bool = True) -> tuple[Any, str]:
    """The value, or what is wrong with it."""
    inner = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", text, re.DOTALL) if fenced else None
    try:
        return json.loads(inner.group(1) if inner else text, parse_constant=_no_json), ""
    except (ValueError, RecursionError) as error:
        what = f"{error.msg} at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        return None, f"no JSON: {what}"


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def schema_fault(value: object, schema: str) -> str:
    """The first fault of the value under a JSON schema, by its place."""
    from referencing.exceptions import Unresolvable

    try:
        faults = list(_validator(schema).iter_errors(value))
    except Unresolvable as error:
        raise InputError(
            f"refers to what is not in it ({error})", _shown(schema), "put all parts in one file"
        ) from None
    first = min(faults, key=lambda fault: (list(map(str, fault.absolute_path)), fault.message), default=None)
    return "" if first is None else f"{first.json_path}: {_shown(first.message, quoted=False)}"


@lru_cache
def _validator(schema: str) -> Foreign:
    library = _jsonschema()
    try:
        plain = json.loads(schema)
        kind = library.validators.validator_for(plain, default=library.Draft202012Validator)
        kind.check_schema(plain)
    except (ValueError, library.SchemaError, RecursionError) as error:
        raise InputError(f"is no JSON schema ({str(error).splitlines()[0]})", _shown(schema)) from None
    from jsonschema_specifications import REGISTRY

    # With a registry of its own a schema can refer to its own parts, and no address is fetched.
    return kind(plain, registry=REGISTRY)


def _jsonschema() -> Foreign:
    try:
        import jsonschema
        import jsonschema.validators
    except ImportError:
        raise MissingExtra("jsonschema", "checks", "a check against a JSON schema") from None
    return jsonschema


@lru_cache(maxsize=64)
def _read(path: str) -> str:
    if path.lstrip().startswith("{"):
        return path
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", path, "name a JSON file with schema=FILE") from None


@lru_cache(maxsize=256)
def _compiled(pattern: str, ignore_case: bool) -> Foreign:
    import regex

    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise InputError(f"is no regular expression ({error})", _shown(pattern)) from None


def _folded(text: str, ignore_case: bool) -> str:
    return text.casefold() if ignore_case else text


def _shown(text: str, quoted: bool = True) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= SHOWN else short[: SHOWN - 1] + "…"
    return repr(short) if quoted else short
