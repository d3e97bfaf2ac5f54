"""Licences decide which rows come through."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from quintet.errors import InputError, UnknownName, UserError
from quintet_train.corpora import corpora, corpus, rows
from quintet_train.reader.data import known_sources


def put(folder: Path, name: str, content: list[dict[str, Any]]) -> None:
    target = folder / f"{name}.jsonl.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in content).encode()))


def test_per_source_keeps_open_sources_only(tmp_path: Path) -> None:
    put(tmp_path, "nli_from_ni/nli_pairs", [{"source": s} for s in ("snli", "anli_r1", "sick", "mnli")])
    assert [row["source"] for row in rows("nli_from_ni/nli_pairs", tmp_path)] == ["snli", "anli_r1", "sick", "mnli"]
    assert [row["source"] for row in rows("nli_from_ni/nli_pairs", tmp_path, "release")] == ["snli", "mnli"]


def test_tasks_are_filtered_by_their_licence(tmp_path: Path) -> None:
    put(tmp_path, "natural_instructions/ni_dialogue", [{"t": "a"}, {"t": "b"}, {"t": "c"}])
    licences = [("a", ["MIT"]), ("b", ["MIT", "CC BY-NC 4.0"]), ("c", ["Unknown"])]
    put(tmp_path, "natural_instructions/ni_tasks_meta", [{"task": t, "licence": licence} for t, licence in licences])
    assert list(rows("natural_instructions/ni_dialogue", tmp_path, "named")) == [{"t": "a"}]


def test_refusals() -> None:
    with pytest.raises(UserError, match="CC BY-NC-SA"):
        rows("sick/sick", purpose="named")
    with pytest.raises(UserError, match="named"):
        rows("cola/cola", purpose="release")
    with pytest.raises(UnknownName, match="cola/cola"):
        corpus("cola")


def test_missing_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="QUINTET_CORPORA"):
        rows("blimp/blimp", tmp_path)
    put(tmp_path, "blimp/blimp", [{"good": "a"}, {"good": "b"}])
    path = tmp_path / "blimp" / "blimp.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"good": "a"}\n{"go'))
    with pytest.raises(InputError, match="line 2"):
        list(rows("blimp/blimp", tmp_path))


def test_catalogue_matches_the_folder(shared: Path) -> None:
    folder = shared / "corpora"
    found = {str(p.relative_to(folder)).removesuffix(".jsonl.gz") for p in folder.glob("*/*.jsonl.gz")}
    assert set(corpora()) <= found
    assert {source.file for source in known_sources()} <= found, "what the reader learns from"
    small = [facts for facts in corpora().values() if facts.examples < 2500]
    assert len(small) > 10
    for facts in small:
        assert sum(1 for _ in rows(facts.name, folder)) == facts.examples, facts.name
