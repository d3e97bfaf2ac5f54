"""Inputs made to break the loaders, dialects, decoders, cheap metrics and the service's bodies; faults are counted.

    python benchmarks/fuzz.py [--inputs 1000000] [--seconds S] [--seed 0] [--area NAME ...] [--shrink]

Each area makes one input after another from a seeded stream and holds what comes out against an oracle: row k in is
row k out, or named as skipped, or the file is refused in one line. Anything else is a fault: another exception, a row
that is gone, a cell beside another row's cell, a score that depends on its neighbours. A fault is printed with its seed
(`--area NAME --seed SEED --inputs 1` shows it again); `--shrink` lets hypothesis look for the smallest one.
Ends with status 1 where there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import math
import os
import random
import re
import signal
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quintet.core.calibration import read_calibration
from quintet.core.example import Example
from quintet.core.task import read_tasks
from quintet.errors import ModelError, UserError
from quintet.io.items import Items
from quintet.io.records import BadRow, Record, Table
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table
from quintet.io.writers import open_writer
from quintet.metrics import metrics as registry
from quintet.models.folder import describe
from quintet.models.packed_weights import read_all
from quintet.models.subwords import Subwords

KEPT, NAMED, REFUSED = "kept", "named", "refused"
TOKENS = [
    b'"', b'""', b",", b"\t", b";", b"\n", b"\r\n", b"\r", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u0000", b"\\ud800",
    b"\xef\xbb\xbf", b"\x1f\x8b", b"\x00", b"\xff", b"\xc3", b"NaN", b"null", b"1e999", b"-", b"'", b"PAR1", b"[[[[",
    b"0",
]  # fmt: skip
"""What the formats are made of, and what has broken readers before."""
PIECES = [
    "word", "two words", "", " ", '"quoted"', "a, b", "tab\there", "line\nbreak", "cr\rhere", "\u2028", "é", "\ufeff",
    "\ud800",
    "𝔘", "\x00", "<|endoftext|>", "[SEP]", "{}", "[1]", "null", "NaN", "-1", "; x", "'", "\\", "word " * 40,
    "x" * 300, "日本語",
]  # fmt: skip
CHEAP = ["distinct-1", "distinct-2", "ngram-entropy", "response-length", "bleu-4", "rouge-1", "rouge-2", "rouge-l",
         "meteor", "chrf", "ter", "cider", "token-f1", "gruen-redundancy"]  # fmt: skip
MARK = re.compile(r"row(\d+)w(\d{5})")


class Fault(Exception):
    """What must not happen did."""


def mark(k: int) -> str:
    """Names a row; with a check, so that a flipped bit makes no other row's name of it."""
    return f"row{k}w{zlib.crc32(str(k).encode()) % 100_000:05}"


def marks(value: Any) -> set[int]:
    return {int(k) for k, check in MARK.findall(str(value)) if mark(int(k)) == f"row{k}w{check}"}


def text(draw: random.Random, plain: bool = False) -> str:
    pieces = PIECES[:6] if plain else PIECES
    return " ".join(draw.choice(pieces) for _ in range(draw.randint(0, 4)))


def damaged(draw: random.Random, content: bytes) -> bytes:
    """A few bytes flipped, cut out, repeated, or tokens put in."""
    found = bytearray(content)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 5])):
        at, how = draw.randrange(len(found) + 1), draw.randrange(5)
        if how == 0 and at < len(found):
            found[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            del found[at : at + draw.randint(1, 8)]
        elif how == 2:
            found[at:at] = draw.choice(TOKENS)
        elif how == 3:
            found[at:at] = found[at : at + draw.randint(1, 40)]
        else:
            found[at : at + 1] = draw.choice(TOKENS)
    return bytes(found)


class Files:
    """One file after another, in memory where the system has such a place."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.path = Path(self.folder.name)

    def write(self, name: str, content: bytes) -> Path:
        path = self.path / name
        path.write_bytes(content)
        return path


FILES = Files()
os.environ.setdefault("QUINTET_CACHE", str(FILES.path / "cache"))  # these are no runs to be remembered


def read(path: Path, skip_bad: bool, format: str | None = None) -> list[Record | BadRow] | None:
    """The rows, or None where the file was refused as it should be."""
    try:
        with open_table(path, format, skip_bad=skip_bad) as table:
            return list(table)
    except UserError as error:
        if len(str(error).splitlines()) != 1:
            raise Fault(f"a message of several lines: {error}") from None
        return None


def hold(rows: list[Record | BadRow], count: int, whole: list[bytes], content: bytes) -> str:
    """No cell beside another row's cell; no row that was left as it was is gone; places are counted without gaps."""
    if [row.position.row for row in rows] != list(range(1, len(rows) + 1)):
        raise Fault("places are not counted one by one")
    seen: list[int] = []
    intact = [k for k in range(count) if content.count(whole[k]) == 1 and content.count(mark(k).encode()) == 2]
    for row in rows:
        if isinstance(row, BadRow):
            seen += sorted(marks(row.raw) | marks(row.values))
            continue
        of_cells = [marks(value) for value in row.values.values()]
        named = set().union(*of_cells)
        if len(named) > 1 and named & set(intact):
            raise Fault(f"cells of rows {sorted(named)} in one row: {row.values}"[:600])
        seen += sorted(named)
    gone = [k for k in intact if k not in seen]
    if gone:
        raise Fault(f"rows {gone} are gone and not named")
    order = [k for k in dict.fromkeys(seen) if k in intact]
    if order != sorted(order):
        raise Fault(f"rows in another order: {order}")
    return NAMED if any(isinstance(row, BadRow) for row in rows) else KEPT


def rows_of(draw: random.Random) -> list[dict[str, Any]]:
    return [
        {"id": mark(k), "output": f"{text(draw)} {mark(k)} {text(draw)}", "source": text(draw)}
        for k in range(draw.randint(1, 6))
    ]


def jsonl(draw: random.Random) -> str:
    rows = rows_of(draw)
    lines = [json.dumps(row, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass") for row in rows]
    content = damaged(draw, b"\n".join(lines) + draw.choice([b"\n", b"", b"\r\n"]))
    return of_file("a.jsonl", draw, content, lines)


def json_list(draw: random.Random) -> str:
    rows = rows_of(draw)
    objects = [json.dumps(row, indent=draw.choice([None, 1])).encode() for row in rows]
    opening, between, end = draw.choice([(b"[", b",", b"]"), (b"[\n", b",\n", b"\n]\n"), (b"", b"\n", b"\n")])
    return of_file("a.json", draw, damaged(draw, opening + between.join(objects) + end), objects)


def csv_table(draw: random.Random) -> str:
    delimiter, name = draw.choice([(",", "a.csv"), ("\t", "a.tsv"), (";", "a.csv")])
    rows = rows_of(draw)
    for row in rows:
        for key in row:
            row[key] = row[key].replace("\x00", "").replace("\ud800", "")
    lines = []
    for row in [{key: key for key in rows[0]}, *rows]:
        stream = io.StringIO()
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerow(row.values())
        lines.append(stream.getvalue().encode())
    content = lines[0] + damaged(draw, b"".join(lines[1:]))
    return of_file(name, draw, content, lines[1:])


def of_file(name: str, draw: random.Random, content: bytes, whole: list[bytes]) -> str:
    if draw.random() < 0.05:
        name, packed = name + ".gz", gzip.compress(content, mtime=0)
    else:
        packed = content
    skip_bad = draw.random() < 0.8
    rows = read(FILES.write(name, packed), skip_bad)
    if rows is None:
        return REFUSED
    return hold(rows, len(whole), whole, content)


def anything(draw: random.Random) -> str:
    """Bytes without any form, under every name."""
    content = b"".join(draw.choice([*TOKENS, draw.randbytes(3)]) for _ in range(draw.randint(0, 60)))
    name = draw.choice(["a.jsonl", "a.json", "a.csv", "a.tsv", "a.txt", "a", "a.jsonl.gz", "a.ndjson"])
    rows = read(FILES.write(name, content), draw.random() < 0.5)
    return REFUSED if rows is None else NAMED if any(isinstance(row, BadRow) for row in rows) else KEPT


def round_trip(draw: random.Random) -> str:
    """What is written is read back: texts as they were, but for what CSV cannot hold."""
    ending = draw.choice(["jsonl", "json", "csv", "tsv", "jsonl.gz"])
    rows = [{"id": mark(k), "output": text(draw) + "x", "source": text(draw) + "y"} for k in range(draw.randint(1, 5))]
    path = FILES.path / f"b.{ending}"
    with open_writer(path) as writer:
        for row in rows:
            writer.write(row)
    found = read(path, False)
    flat = ending in ("csv", "tsv")
    wanted = [{k: v.replace("\ud800", "\ufffd") if flat else v for k, v in row.items()} for row in rows]
    if found is None and flat and any("\n" in cell for row in wanted for cell in row.values()):
        return REFUSED  # a text of several lines that could as well be several rows
    if found is None or [row.values for row in found if isinstance(row, Record)] != wanted:
        raise Fault(f"{ending}: {wanted} came back as {found}"[:800])
    return KEPT


COLUMNS = ["output", "prediction", "response", "source", "document", "context", "contexts", "references", "reference",
           "history", "messages", "question", "input", "prompt", "id", "system", "doc_id", "choices", "vars", "answer",
           "retrieved_contexts", "conversations", "inputs", "outputs", "user_input", "expected_output"]  # fmt: skip


def value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(12 if depth < 4 else 7)
    if kind < 3:
        return text(draw)
    if kind < 7:
        return draw.choice([None, True, False, 0, -1, 10**30, 0.5, float("nan"), float("inf"), 1e308, b"\xff", (), ""])
    if kind < 9:
        return [value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if kind < 11:
        keys = ["role", "content", "text", "from", "value", "page_content", "message", "type", *COLUMNS[:12]]
        return {draw.choice(keys): value(draw, depth + 1) for _ in range(draw.randint(0, 3))}
    return [{"role": draw.choice(["user", "assistant", "tool", 5]), "content": value(draw, depth + 1)}]


def dialects(draw: random.Random) -> str:
    """Cells of any shape under names that tools use: every row becomes an item in its place, or is named."""
    rows = []
    names = draw.sample(COLUMNS, draw.randint(1, 5))
    for k in range(draw.randint(1, 4)):
        rows.append({name: value(draw) for name in names if draw.random() < 0.9} | {"id": mark(k)})
    task = draw.choice([None, "summarization", "dialogue", "fact", "rag"])
    try:
        table: Table = rows_from_python(rows)
        with Items(table, task, None, skip_bad=True) as items:
            found = list(items)
    except UserError:
        return REFUSED
    if len(found) != len(rows):
        raise Fault(f"{len(rows)} rows became {len(found)}")
    for k, item in enumerate(found):
        if item.example is None and not item.problem:
            raise Fault(f"row {k} has neither an example nor a reason")
        if item.example is not None and marks(item.example.id) - {k}:
            raise Fault(f"row {k} has the id {item.example.id}")
        if item.example is not None:
            item.example.digest()
    return NAMED if any(item.example is None for item in found) else KEPT


KEYS = ["format", "dimensions", "model", "vocab", "type", "name", "layers", "x", "question", "needs"]


CURVE = {"scores": [0.1, 0.9], "values": [1, 5], "low": 1, "high": 5, "higher_is_better": True, "threshold": None}
MODEL = "name = 'm'\nrole = 'embedder'\nlayers = 2\nwidth = 4\nmax_tokens = 8\n"
TASKS = "[t.dimensions]\nx = { question = 'Is it?', metric = 'rouge-1' }\ny = { question = 'Why?', low = 0.0 }\n"
PIECES_OF_WORDS = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}, "unk_token": "[UNK]",
                   "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}  # fmt: skip


def sound(which: int) -> bytes:
    """A file that its reader takes."""
    if which == 0:
        return json.dumps({"format": "quintet-calibration-1", "dimensions": {"x": CURVE, "y": CURVE}}).encode()
    if which == 3:
        return json.dumps({"model": PIECES_OF_WORDS, "added_tokens": []}).encode()
    if which == 4:
        told = {name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * k, 8 * k + 8]} for k, name in enumerate("ab")}
        header = json.dumps(told).encode()
        return len(header).to_bytes(8, "little") + header + bytes(16)
    return (MODEL if which == 1 else TASKS).encode()


def decoders(draw: random.Random) -> str:
    """Files of settings, models and tensors: read, or refused with the type that is wrong."""
    which = draw.randrange(5)
    if draw.random() < 0.5:
        return decoded(which, damaged(draw, sound(which)))
    plain = {draw.choice(KEYS): value(draw) for _ in range(draw.randint(0, 4))}
    if which == 0:
        curve = {**CURVE, draw.choice(list(CURVE)): value(draw)}
        plain = {"format": "quintet-calibration-1", "dimensions": draw.choice([{"x": curve}, plain, value(draw)])}
    if which == 3:
        plain = {"model": draw.choice([{"type": draw.choice(["WordPiece", "BPE", "Unigram", 5]), "vocab": value(draw),
                 "unk_token": value(draw)}, value(draw)]), "added_tokens": value(draw)}  # fmt: skip
    content = damaged(draw, json.dumps(plain, default=repr).encode("utf-8", "surrogatepass"))
    if which in (1, 2):
        key = draw.choice(["name", "role", "layers", "width", "max_tokens", "question", "low", "needs", "file", "on"])
        content = damaged(draw, f"[t.dimensions]\nx = {{ question = 'q' }}\n{key} = {toml(value(draw))}\n".encode(
            "utf-8", "surrogatepass"))  # fmt: skip
    if which == 4:
        content = len(content).to_bytes(8, "little") + content + draw.randbytes(draw.randint(0, 16))
    return decoded(which, content)


def decoded(which: int, content: bytes) -> str:
    readers: list[tuple[str, Callable[[Path], Any]]] = [
        ("c.json", read_calibration), ("model.toml", lambda path: describe(path.parent)), ("t.toml", read_tasks),
        ("tokenizer.json", Subwords.read), ("t.safetensors", read_all),
    ]  # fmt: skip
    name, reader = readers[which]
    try:
        reader(FILES.write(name, content))
    except (UserError, ModelError) as error:
        if len(str(error)) > 5000:
            raise Fault("a message without end") from None
        return REFUSED
    return KEPT


def toml(plain: Any) -> str:
    if isinstance(plain, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in plain.items()) + " }"
    if isinstance(plain, list | tuple):
        return "[" + ", ".join(map(toml, plain)) + "]"
    return (
        "''" if plain is None else json.dumps(plain, default=str).lower() if not isinstance(plain, str) else repr(plain)
    )


def bodies(draw: random.Random) -> str:
    """What the service is sent: a request, or a refusal with a status of its own."""
    from quintet.server.request import Refusal, read_request
    from quintet.server.settings import Limits

    example = {name: value(draw) if draw.random() < 0.3 else text(draw)
               for name in draw.sample(["output", "source", "context", "id", "system"], 3)}  # fmt: skip
    plain = {"metrics": ["rouge-l"], "examples": [{"output": "x"}, example]}
    if draw.random() < 0.3:
        plain[draw.choice(["task", "dimensions", "metrics", "model", "fast", "evidence", "examples", "x"])] = value(
            draw
        )
    body = json.dumps(plain, default=repr).encode()
    try:
        read_request(damaged(draw, body) if draw.random() < 0.6 else body, Limits())
    except Refusal as refusal:
        if not 400 <= refusal.status < 500 or len(refusal.message) > 1000:
            raise Fault(f"refused with {refusal.status} {refusal.message}"[:300]) from None
        return REFUSED
    return KEPT


METRICS: dict[str, Any] = {}


def cheap_metrics(draw: random.Random) -> str:
    """Texts of any kind: a number or a reason for each, and the same alone as in company."""
    name = draw.choice(CHEAP)
    metric = METRICS.setdefault(name, registry[name].build())
    made = [Example(text(draw), text(draw), None, (text(draw), text(draw)), (text(draw),)) for _ in range(3)]
    together = metric.score(made)
    for example, row in zip(made, together, strict=True):
        for score in row.values():
            if not (math.isfinite(score.value) or score.flags):
                raise Fault(f"{name}: no number and no reason for {example!r}"[:600])
    if not name.startswith("cider"):  # which counts words over the whole file
        alone = metric.score(made[1:2])[0]
        if {k: repr(v.value) for k, v in alone.items()} != {k: repr(v.value) for k, v in together[1].items()}:
            raise Fault(f"{name}: another score alone than in company for {made[1]!r}"[:600])
    return KEPT


def parquet(draw: random.Random) -> str:
    """Few: each starts a process."""
    import arro3.core as arrow
    from arro3.io import write_parquet

    count = draw.randint(1, 50)
    ids = arrow.Array([mark(k) for k in range(count)], arrow.DataType.string())
    path = FILES.path / "a.parquet"
    write_parquet(arrow.Table.from_pydict({"id": ids, "output": ids}), path)
    content = damaged(draw, path.read_bytes())
    rows = read(FILES.write("d.parquet", content), True)
    if rows is None:
        return REFUSED
    if len(rows) != count:
        raise Fault(f"{count} rows became {len(rows)}")
    return KEPT


def spreadsheet(draw: random.Random) -> str:
    """Damaged as a file, or inside one of its parts."""
    path, sheet, rows = FILES.path / "a.xlsx", "xl/worksheets/sheet1.xml", draw.randint(1, 8)
    with open_writer(path) as writer:
        for k in range(rows):
            writer.write({"id": mark(k), "output": text(draw) + "x", "n": k})
    content = path.read_bytes()
    if draw.random() < 0.3:
        content = damaged(draw, content)
    else:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
            hit = sheet if draw.random() < 0.6 else draw.choice(old.namelist())
            for name in old.namelist():
                if name != hit or draw.random() < 0.95:
                    new.writestr(name, damaged_markup(draw, old.read(name)) if name == hit else old.read(name))
        content = made.getvalue()
    found = read(FILES.write("b.xlsx", content), draw.random() < 0.8)
    if found is None:
        return REFUSED
    if [row.position.row for row in found] != list(range(1, len(found) + 1)):
        raise Fault("places are not counted one by one")
    return KEPT


def damaged_markup(draw: random.Random, content: bytes) -> bytes:
    """An attribute, a number or a name is another one, or bytes are."""
    if draw.random() < 0.4:
        return damaged(draw, content)
    places = [*re.finditer(rb'(?<==")[^"]*|(?<=>)[^<>]+|(?<=<)/?\w+', content)]
    if not places:
        return content
    at = draw.choice(places)
    new = draw.choice([b"", b"x", b"-1", b"999999999", b"XFD1048576", b"A0", b"1e9", b"e", b"d", b"n", b"b", b"\xff",
                       b"c", b"2024-13-45T00:00:00", b"t"])  # fmt: skip
    return content[: at.start()] + new + content[at.end() :]


CELLS = [None, True, False, 0, -1, 0.5, "0.5", "x", "", "NaN", 1e308, 10**30, [], [1], {}, {"a": 1}, "[" * 100_000,
         "[[[", "{}", '{"consistency": 5}', {"consistency": {}}, {"consistency": {"value": 1, "spans": 5}}, [5],
         {"consistency": {"value": 1, "spans": [{"start": -5, "end": 10**9, "value": "x"}]}}, "\ud800", "\x00", "C",
         "1,5", "\u00b2", "1_000", "1e400", ["consistency: empty source"], '{"a": 1, "a": 2}']  # fmt: skip
SCORED = ["consistency", "coherence", "notes", "evidence", "id", "system", "group", "source", "rouge-1", "label"]
COMMANDS = [line.split() for line in (
    "gate A --min consistency=0.5", "gate A --max-drop consistency=0.02 --baseline B", "compare A B", "compare A",
    "calibrate A --scores consistency=consistency --labels consistency=label --out c.json",
    "prefer A B --metric distinct-1", "explain A --metric distinct-1", "explain A --metric distinct-1 --id 1",
    "score A --metric distinct-1 --no-cache --skip-bad --out o.html",
    "score A --metric distinct-1 --no-cache --skip-bad --out o.xlsx",
    "score A --metric distinct-1 --no-cache --skip-bad --out o.csv", "score A --metric rouge-1 --no-cache",
)]  # fmt: skip


def commands(draw: random.Random) -> str:
    """Commands on files of scores with odd cells: an answer, or one line that says what is wrong."""
    from quintet.cli import main as command

    files = {}
    for name in "AB":
        rows = [of_scores(draw, k) for k in range(draw.randint(1, 12))]
        if draw.random() < 0.5:
            files[name] = FILES.write(f"{name}.jsonl", b"\n".join(json.dumps(row).encode() for row in rows))
            continue
        stream, names = io.StringIO(), list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows([[json.dumps(cell) if isinstance(cell := row.get(key, ""), list | dict) else cell
                           for key in names] for row in rows])  # fmt: skip
        files[name] = FILES.write(f"{name}.csv", stream.getvalue().encode("utf-8", "replace"))
    words = [str(files.get(word, word)) for word in draw.choice(COMMANDS)]
    words = [str(FILES.path / word) if word.startswith(("o.", "c.")) else word for word in words]
    said, told, code = io.StringIO(), io.StringIO(), 0
    before = signal.getsignal(signal.SIGTERM)
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        try:
            command(words)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            signal.signal(signal.SIGTERM, before)
    if code == 130:  # a kill or Ctrl-C of this program, which the command took for its own
        raise KeyboardInterrupt
    if "internal error" in told.getvalue() or code not in (0, 2, 3) or len(told.getvalue()) > 20_000:
        raise Fault(f"{' '.join(words)} ended with {code}: {told.getvalue()}"[:600])
    return REFUSED if code == 2 else KEPT


def of_scores(draw: random.Random, k: int) -> dict[str, Any]:
    row = {"output": f"text {k} is here.", "id": str(k), "system": draw.choice("ab"), "consistency": draw.random(),
           "rouge-1": draw.random(), "label": draw.choice([True, False, "yes", "no", 1, 0])}  # fmt: skip
    for _ in range(draw.randint(0, 3)):
        row[draw.choice(SCORED)] = draw.choice(CELLS)
    return row


AREAS: dict[str, tuple[Callable[[random.Random], str], int]] = {
    "jsonl": (jsonl, 200), "json": (json_list, 200), "csv": (csv_table, 200), "anything": (anything, 100),
    "round trip": (round_trip, 60), "dialects": (dialects, 150), "decoders": (decoders, 100), "bodies": (bodies, 100),
    "cheap metrics": (cheap_metrics, 88), "parquet": (parquet, 2),
    "commands": (commands, 4), "xlsx": (spreadsheet, 6),
}  # fmt: skip
"""Each area with its share of a thousand inputs."""


def attempt(area: str, seed: int) -> str:
    """One input; Fault where the oracle, or anything that was not foreseen, says so."""
    try:
        return AREAS[area][0](random.Random(f"{area}/{seed}"))
    except (Fault, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Fault(f"{type(error).__name__}: {error}"[:600]) from error


def shrunk(area: str) -> None:
    """Hypothesis draws from the same area and shows the smallest input that is a fault."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    @settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.randoms(use_true_random=False))
    def look(draw: random.Random) -> None:
        AREAS[area][0](draw)

    look()


def run(areas: list[str], inputs: int, seconds: float, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    counts: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    shares = [area for area in areas for _ in range(AREAS[area][1])]
    random.Random(seed).shuffle(shares)
    until = time.monotonic() + seconds
    for k in range(inputs):
        if time.monotonic() > until:
            break
        area = shares[k % len(shares)]
        try:
            counts[area, attempt(area, seed + k)] += 1
        except Fault as fault:
            counts[area, "FAULT"] += 1
            if counts[area, "FAULT"] <= 5:
                faults.append(f"{area}, seed {seed + k}: {fault}")
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", action="append", choices=list(AREAS))
    parser.add_argument("--shrink", action="store_true")
    given = parser.parse_args()
    areas = given.area or list(AREAS)
    if given.shrink:
        for area in areas:
            shrunk(area)
        return 0
    began = time.process_time()
    counts, faults = run(areas, given.inputs, given.seconds, given.seed)
    outcomes = (KEPT, NAMED, REFUSED, "FAULT")
    print(f"{'area':15}" + "".join(f"{name:>12}" for name in outcomes))
    for area in areas:
        print(f"{area:15}" + "".join(f"{counts[area, name]:12,}" for name in outcomes))
    print(f"{'all':15}" + "".join(f"{sum(counts[area, name] for area in areas):12,}" for name in outcomes))
    print(f"{counts.total():,} inputs, {time.process_time() - began:.0f} s of processor time")
    for fault in faults:
        print(fault.encode("ascii", "backslashreplace").decode())
    with contextlib.suppress(OSError):
        FILES.folder.cleanup()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
