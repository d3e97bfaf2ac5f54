"""Scores in the logs of other tools (Inspect, promptfoo, lm-evaluation-harness, MLflow), by the item's id."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence

from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError
from quintet.io.values import plain

GRADES = {
    "c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0, "yes": 1.0, "no": 0.0, "pass": 1.0, "fail": 0.0, "true": 1.0, "false": 0.0,
}  # fmt: skip
"""Inspect's letters (correct, incorrect, partly, no answer) and words that stand for numbers."""
LARGEST = 512 * 2**20
"""Bytes of a sample in a log that is packed."""


def of_log(row: Cells) -> JsonObject | None:
    """`row` as id, system and scores; None where no tool's log looks like this."""
    return next((found for read in _READERS if (found := read(row)) is not None), None)


def inspect_samples(path: str) -> Iterator[JsonObject]:
    """The samples of an Inspect log that is packed (`.eval`)."""
    try:
        with zipfile.ZipFile(path) as packed:
            for entry in packed.infolist():
                if entry.filename.startswith("samples/") and entry.filename.endswith(".json"):
                    if entry.file_size > LARGEST:
                        raise InputError(f"{entry.filename} is over {LARGEST >> 20} MB", path, "take it out of the log")
                    yield json.loads(packed.read(entry))
    except (zipfile.BadZipFile, ValueError, KeyError, NotImplementedError) as error:
        raise InputError(f"is no Inspect log ({error})", path, "write it anew, or as JSON: inspect log dump") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path) from None


def value_of(value: object) -> float | None:
    """A number, a grade (C, I, yes, pass) or true and false as a number."""
    value = plain(value)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        return float(value)
    return GRADES.get(value.strip().lower()) if isinstance(value, str) else None


def _inspect(row: Cells) -> JsonObject | None:
    scores = plain(row.get("scores"))
    if (
        not isinstance(scores, Mapping)
        or not scores
        or not all(isinstance(plain(score), Mapping) and "value" in plain(score) for score in scores.values())
    ):
        return None
    epoch = row.get("epoch", 1)
    found: JsonObject = {"id": str(row.get("id")) + ("" if epoch in (1, None) else f"/{epoch}")}
    for name, score in scores.items():
        value = plain(plain(score)["value"])
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        found.update({f"{name}/{part}".rstrip("/"): n for part, v in parts if (n := value_of(v)) is not None})
    return found


def _promptfoo(row: Cells) -> JsonObject | None:
    if "provider" not in row or not {"success", "gradingResult", "namedScores"} & row.keys():
        return None
    provider = plain(row["provider"])
    name = (provider.get("label") or provider.get("id")) if isinstance(provider, Mapping) else provider
    item = row.get("testIdx")
    item = _digest(row.get("vars")) if item is None else str(item)
    prompt = row.get("promptIdx")
    found: JsonObject = {"id": item, "doc_id": item, "system": str(name) + (f"/{prompt}" if prompt else "")}
    found |= {"pass": value_of(row.get("success")), "score": value_of(row.get("score"))}
    named = plain(row.get("namedScores"))
    found |= {key: value_of(value) for key, value in named.items()} if isinstance(named, Mapping) else {}
    return {key: value for key, value in found.items() if value is not None}


def _lm_eval(row: Cells) -> JsonObject | None:
    if "doc_id" not in row or not {"filtered_resps", "resps"} & row.keys():
        return None
    named = row.get("metrics")
    names = named if isinstance(named, Sequence) and not isinstance(named, str) else list(row)
    kept = [name for name in names if name in row and name not in _LM_EVAL and value_of(row[name]) is not None]
    filtered = row.get("filter")
    item = str(row["doc_id"]) + (f"/{filtered}" if filtered not in (None, "none") else "")
    return {"id": item, **{name: value_of(row[name]) for name in kept}}


_LM_EVAL = frozenset(("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "doc_hash"))
_LM_EVAL |= {"prompt_hash", "target_hash", "metrics"}


def _mlflow(row: Cells) -> JsonObject | None:
    """Traces differ from run to run, so items are known by what was asked."""
    asked = next((row[key] for key in ("request", "inputs") if row.get(key) is not None), None)
    assessments = plain(row.get("assessments"))
    found: JsonObject = {}
    if isinstance(assessments, Sequence) and not isinstance(assessments, str):
        for one in filter(lambda one: isinstance(one, Mapping), map(plain, assessments)):
            feedback = plain(one.get("feedback"))
            value = value_of(feedback.get("value") if isinstance(feedback, Mapping) else one.get("value"))
            name = one.get("assessment_name") or one.get("name")
            found |= {} if value is None or not name else {str(name): value}
    else:
        for key, cell in row.items():
            if key.endswith("/value") and (value := value_of(cell)) is not None:
                found[key.removesuffix("/value")] = value
    return {"id": _digest(asked), **found} if found and asked is not None else None


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]


_READERS: tuple[Callable[[Cells], JsonObject | None], ...] = (_inspect, _promptfoo, _lm_eval, _mlflow)
