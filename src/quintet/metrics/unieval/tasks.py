"""UniEval's four evaluators, and one for any question of the user's own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score, no_score
from quintet.errors import InputError, MissingField, UnknownName
from quintet.metrics.places import read_places
from quintet.metrics.unieval.asking import Combine, Prompt, Reading, Unit, ask, prompts_of
from quintet.models.open import identity, open_model
from quintet.models.roles import Long
from quintet.text.punkt import RULES, sentences_identity, splitter

DEFAULT_YES_NO = "bundled:evaluator"
DEFAULT_ANSWERER = "bundled:judge-lm"
References = Literal["mean", "first"]
OVERALL = "overall"


@dataclass(frozen=True)
class YesNoMetric(Metric):
    """What all of them share: the model, and where they follow the release."""

    model: str = DEFAULT_YES_NO
    """A model of the role yes-no: a T5 checkpoint as released, or a decoder."""
    long: Long = "window"
    """cut: the prompt ends at 1024 tokens, as released; what was not seen is reported."""
    mode: Literal["quintet", "released", "paper"] = "quintet"
    """released, paper: the first reference only, cut, texts as they stand; paper asks the paper's questions."""
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    model_role: ClassVar[str] = "yes-no"
    paper: ClassVar[str] = "Zhong et al. 2022"

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        if self.mode != "quintet":
            fixed = {"long": "cut", "references": "first", "nofact": "text"}
            for name in {f.name for f in dataclasses.fields(self)} & set(fixed):
                object.__setattr__(self, name, fixed[name])

    def prepare(self) -> None:
        splitter(self.sentences)
        open_model(self.model, self.model_role)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model), "sentences": sentences_identity(self.sentences)}

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        raise NotImplementedError

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        asked = tuple(prompt.dimension for prompt in self.prompts)
        if len(asked) == 1:
            return asked
        needs = tuple(dict.fromkeys(field for dimension in asked for field in dimension.needs))
        high = None if any(d.high is None for d in asked) else 1.0
        return (*asked, Dimension(OVERALL, "How good is the text over all these questions?", needs, high=high))

    def check(self, example: Example) -> None:
        """A field that is absent leaves out the dimensions that need it; with nothing left to answer it is named."""
        lacking = [next((f for f in prompt.grounds if not example.has(f)), None) for prompt in self.prompts]
        if all(lacking):
            raise MissingField(str(lacking[0]), example.id, self.prompts[0].name)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        model = open_model(self.model, self.model_role)
        table = {prompt.name: ask(model, prompt, examples, self._reading()) for prompt in self.prompts}
        rows: list[Row] = []
        for position in range(len(examples)):
            row = {name: scores[position] for name, scores in table.items()}
            rows.append(row if len(row) == 1 else {**row, OVERALL: overall(row)})
        return rows

    def _reading(self) -> Reading:
        own = getattr(self, "references", "mean"), getattr(self, "nofact", "text")
        return Reading(self.long, *own, self.mode == "quintet", self.sentences)


def overall(row: Mapping[str, Score]) -> Score:
    """The plain mean of the dimensions, as released: engagingness has no upper bound, so neither has this."""
    missing = [name for name, score in row.items() if score.missing]
    if missing:
        return no_score(f"no {' and '.join(missing)}")
    value = math.fsum(score.value for score in row.values()) / len(row)
    return Score(value, parts={name: score.value for name, score in row.items()})


@dataclass(frozen=True)
class TaskEvaluator(YesNoMetric):
    dims: str = "all"
    """Some of the dimensions, joined by plus signs: coherence+fluency."""

    task: ClassVar[str]

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        known = prompts_of(self.task)
        if self.dims == "all":
            return tuple(known.values())
        named = [name.strip() for name in self.dims.split("+")]
        for name in named:
            if name not in known:
                raise UnknownName(f"dimension of {self.name}", name, known)
        return tuple(prompt for name, prompt in known.items() if name in named)


@dataclass(frozen=True)
class Summarization(TaskEvaluator):
    references: References = "mean"

    name = "unieval-summarization"
    task = "summarization"


@dataclass(frozen=True)
class Dialogue(TaskEvaluator):
    wording: Literal["released", "paper"] = "released"
    """Groundedness: "is it consistent with knowledge in the fact" as the scorer asks, or the question of Table 7."""
    nofact: Literal["text", "absent"] = "text"
    """text: a fact that reads `_nofact` is read as it stands, as released; absent: it is an empty one, flagged."""

    name = "unieval-dialogue"
    task = "dialogue"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode != "quintet":
            object.__setattr__(self, "wording", self.mode)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        if self.wording == "released":
            return super().prompts
        return tuple(
            dataclasses.replace(prompt, question=prompt.paper_question or prompt.question) for prompt in super().prompts
        )


@dataclass(frozen=True)
class DataToText(TaskEvaluator):
    references: References = "mean"

    name = "unieval-data2text"
    task = "data2text"


@dataclass(frozen=True)
class Fact(YesNoMetric):
    name = "unieval-fact"

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(prompts_of("fact").values())


@dataclass(frozen=True)
class Question(YesNoMetric):
    """A dimension from a question in words, zero-shot (paper section 4.6)."""

    model: str = DEFAULT_ANSWERER
    """The evaluator's heads know UniEval's own questions only; the language model takes any, and is weak."""
    question: str = "Is this a well-written text?"
    segments: str = "text:output"
    """LABEL:FIELD for each text, with semicolons between them."""
    called: str = "answer"
    """The name of the dimension."""
    unit: Unit = "text"
    combine: Combine = "mean"
    references: References = "mean"
    nofact: Literal["text", "absent"] = "text"

    name = "unieval-question"

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        if not self.question.strip():
            raise InputError("the question is empty", self.name, "write question=TEXT")
        places = read_places(self.segments, self.name)
        return (Prompt(self.called, self.question, places, self.unit, self.combine),)
