"""The loop: order, duplicates, what is known is not computed again, bad rows keep their place."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.core.metric import Composite, Metric, Row
from quintet.core.result import notes_of
from quintet.core.score import Score, Span
from quintet.errors import InputError, MissingField
from quintet.runner.desk import Tally
from quintet.runner.plan import Column, chunks
from quintet.runner.run import run
from quintet.runner.store import SCHEMA, DiskStore, NoStore

CALLS: list[list[str]] = []


@dataclass(frozen=True)
class Length(Metric):
    per: int = 1
    name = "length"
    dimensions = (Dimension("length", "How long?", high=None), Dimension("echo", "Is it?", needs=("source",)))

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        CALLS.append([e.output for e in examples])
        return [
            {"length": Score(len(e.output) / self.per, (Span(0, 1, 0.5),)), "echo": Score(float(e.output == e.source))}
            for e in examples
        ]


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def items(texts: Sequence[str]) -> list[Item]:
    return [Item(Example(text, source="x", id=str(i))) for i, text in enumerate(texts)]


def columns(per: int = 1) -> list[Column]:
    metric = Length(per)
    return [Column("length", metric, "length"), Column("echo", metric, "echo")]


def values(rows: Sequence[object], label: str = "length") -> list[float]:
    return [row.scores[label].value for row in rows]  # type: ignore[attr-defined]


def test_rows_come_back_in_order_over_chunks() -> None:
    texts = ["a" * (n % 7 + 1) for n in range(50)]
    rows = list(run(columns(), items(texts), NoStore(), chunk_rows=8))
    assert values(rows) == [len(t) for t in texts]
    assert [r.item.example.id for r in rows if r.item.example] == [str(i) for i in range(50)]


def test_equal_examples_are_scored_once_and_one_metric_serves_two_columns() -> None:
    list(run(columns(), items(["aa", "b", "aa", "aa"]), NoStore()))
    assert CALLS == [["aa", "b"]]


def test_a_second_run_computes_nothing(tmp_path: Path) -> None:
    first = list(run(columns(), items(["aa", "b"]), DiskStore(tmp_path / "s.sqlite")))
    tally = Tally()
    second = list(run(columns(), items(["aa", "b"]), DiskStore(tmp_path / "s.sqlite"), tally=tally))
    assert CALLS == [["aa", "b"]]
    assert second == first
    assert (tally.computed, tally.known) == (0, 2)


def test_a_parameter_changes_the_key(tmp_path: Path) -> None:
    list(run(columns(), items(["aa"]), DiskStore(tmp_path / "s.sqlite")))
    (row,) = run(columns(per=2), items(["aa"]), DiskStore(tmp_path / "s.sqlite"))
    assert row.scores["length"].value == 1.0


def test_id_and_system_do_not_change_the_key_but_fields_do(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "s.sqlite")
    list(run(columns(), [Item(Example("a", source="x", id="1"))], store))
    list(run(columns(), [Item(Example("a", source="x", id="2", system="s"))], store))
    list(run(columns(), [Item(Example("a", source="y", id="1"))], store))
    assert CALLS == [["a"], ["a"]]


def test_missing_field_is_named_or_skipped_in_place() -> None:
    rows = [Item(Example("a", source="x", id="1")), Item(Example("b", id="two"))]
    with pytest.raises(MissingField, match=r"'two' has no 'source', which echo needs"):
        list(run(columns(), rows, NoStore()))
    tally = Tally()
    scored = list(run(columns(), rows, NoStore(), skip_bad=True, tally=tally))
    assert not scored[0].scores["echo"].missing
    assert scored[1].scores["echo"].missing
    assert tally.reasons == {"no source": (1, "no source")}


def test_an_unreadable_row_keeps_its_place() -> None:
    rows = [Item(None, "line 1: broken"), Item(Example("b", source="x"))]
    with pytest.raises(InputError, match="broken"):
        list(run(columns(), rows, NoStore()))
    scored = list(run(columns(), rows, NoStore(), skip_bad=True))
    assert scored[0].scores["length"].flags == ("line 1: broken",)
    assert scored[1].scores["length"].value == 1.0


def test_chunks_are_bounded_in_rows_and_characters() -> None:
    assert [len(c) for c in chunks(items(["a"] * 10), rows=4)] == [4, 4, 2]
    assert [len(c) for c in chunks(items(["a" * 60] * 4), rows=100, characters=100)] == [2, 2]


def test_a_killed_chunk_leaves_whole_chunks_behind(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "s.sqlite")
    rows = run(columns(), items([str(n) for n in range(10)]), store, chunk_rows=4)
    next(rows)  # the first chunk is committed before its first row is handed out
    rows.close()
    again = DiskStore(tmp_path / "s.sqlite")
    tally = Tally()
    list(run(columns(), items([str(n) for n in range(10)]), again, chunk_rows=4, tally=tally))
    assert (tally.known, tally.computed) == (4, 6)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: p.write_bytes(b"not a database at all, but long enough to look at" * 100), "cannot be used"),
        (lambda p: sqlite3.connect(p).execute("CREATE TABLE mine (a)").connection.commit(), "not a store of quintet"),
    ],
    ids=["garbage", "foreign"],
)
def test_a_foreign_file_is_refused_and_kept(tmp_path: Path, make: object, says: str) -> None:
    path = tmp_path / "s.sqlite"
    make(path)  # type: ignore[operator]
    before = path.read_bytes()
    with pytest.raises(InputError, match=says):
        DiskStore(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "s.sqlite")
    store._db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    store.close()
    with pytest.raises(InputError, match="newer quintet"):
        DiskStore(tmp_path / "s.sqlite")


def test_two_writers_meet(tmp_path: Path) -> None:
    one, two = DiskStore(tmp_path / "s.sqlite"), DiskStore(tmp_path / "s.sqlite")
    row = {"d": Score(0.25, (Span(0, 1, 0.5, other=("source", 1, 2)),), {"p": 1.0}, ("flag",), {"source": 3})}
    for store in (one, two):
        store.put(b"k" * 32, row)
    one.commit()
    two.commit()
    assert two.get([b"k" * 32]) == {b"k" * 32: row}


@dataclass(frozen=True)
class Twice(Composite):
    times: float = 2.0
    name = "twice"
    dimensions = (Dimension("twice", "How long, twice?", high=None),)

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return (Length(),)

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        return {"twice": Score(self.times * rows[Length()]["length"].value)}


def test_composites_share_their_ingredients_and_the_store_keeps_those(tmp_path: Path) -> None:
    def plan(times: float) -> list[Column]:
        twice, more = Twice(times), Twice(times + 1)
        return [Column("a", twice, "twice"), Column("b", more, "twice"), Column("c", Length(), "length")]

    (row,) = run(plan(2.0), items(["abc"]), DiskStore(tmp_path / "s.sqlite"))
    assert {k: v.value for k, v in row.scores.items()} == {"a": 6.0, "b": 9.0, "c": 3.0}
    (row,) = run(plan(5.0), items(["abc"]), DiskStore(tmp_path / "s.sqlite"))
    assert row.scores["b"].value == 18.0
    assert CALLS == [["abc"]]
    assert Twice().score([Example("abc", source="x"), Example(" ", source="x")])[1]["twice"].flags == ("empty output",)
    assert Twice(2.0).signature != Twice(3.0).signature


def test_a_needed_field_that_holds_nothing_is_said_of_the_column_that_needs_it() -> None:
    rows = [Example("a", source=" \n"), Example("b", source="b"), Example("", source="")]
    columns = [Column("length", Length(), "length"), Column("echo", Length(), "echo")]
    found = list(run(columns, [Item(one) for one in rows], NoStore()))
    assert [row.scores["echo"].flags for row in found] == [("empty source",), (), ("empty output",)]
    assert not any("empty source" in row.scores["length"].flags for row in found)
    assert notes_of(found[0]) == ["echo: empty source"]
    assert found[0].scores["echo"].missing


def test_outputs_of_one_long_source_stay_together() -> None:
    """The source is read once for all of them, however long it is; sources of their own fill a chunk as before."""
    shared, n = "word " * 200, 20
    alike = [Item(Example(f"output {k}", shared + " ")) for k in range(n)]
    assert [len(chunk) for chunk in chunks(alike, characters=2000)] == [n]
    own = [Item(Example(f"output {k}", f"{k} {shared}")) for k in range(n)]
    assert [len(chunk) for chunk in chunks(own, characters=2000)] == [2] * (n // 2)
    copies = [Item(Example(f"output {k}", shared)) for k in range(200)]
    assert max(len(chunk) for chunk in chunks(copies, rows=1000, characters=1010)) <= 33
