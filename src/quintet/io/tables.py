"""`open_table`: a file as people have it, whatever its format, as a stream of rows."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import PurePath

from quintet.errors import InputError, UnknownName
from quintet.io.columns import REFERENCE_SEPARATOR
from quintet.io.records import BadRow, Position, Record, RowItem, Table
from quintet.io.streams import STDIN, UTF8_BOM, display_name, open_bytes, peek

__all__ = ["FORMATS", "BadRow", "Position", "Record", "RowItem", "Table", "open_table"]

FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "xlsx", "lines")
_SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".jl": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".xlsx": "xlsx", ".txt": "lines",
}  # fmt: skip
_UNREAD = {
    **dict.fromkeys((".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".feather", ".arrow", ".ipc", ".orc", ".avro"), "save it as .parquet"),
    **dict.fromkeys((".yaml", ".yml", ".toml", ".xml", ".html", ".htm", ".md"), "save the rows as .jsonl or .csv"),
    **dict.fromkeys((".pkl", ".pickle", ".npy", ".npz", ".h5", ".hdf5", ".pt"), "save the rows as .jsonl or .parquet"),
    **dict.fromkeys((".db", ".sqlite", ".duckdb"), "export the rows as .csv or .parquet"),
    **dict.fromkeys((".pdf", ".doc", ".docx", ".rtf", ".odt"), "save the texts as rows of .jsonl or .csv"),
    **dict.fromkeys((".zip", ".7z", ".xz", ".zst", ".bz2", ".lz4", ".tar"), "unpack it, or pack it as .gz"),
}
"""Endings whose content would be taken for something else, and what to do instead."""

Path = str | os.PathLike[str]


def open_table(path: Path | Mapping[str, Path], format: str | None = None, *, skip_bad: bool = False) -> Table:
    """The rows of a file, of standard input (`-`), or of line-aligned files (`{"output": FILE, "source": FILE}`).

    The format is told by the suffix (`.gz` aside) and, failing that, by the first bytes. With `skip_bad`, a row that
    cannot be read becomes a BadRow in its place; without, it raises InputError.
    """
    if isinstance(path, Mapping):
        return _lines_table(path, skip_bad)
    if format is not None and format not in FORMATS:
        raise UnknownName("input format", format, FORMATS)
    _refuse_unread(path, format)
    format = format or _format_by_suffix(path)
    if format == "lines":
        return _lines_table({"output": path}, skip_bad)
    name = display_name(path)
    stream = open_bytes(path)
    try:
        return _open_stream(path, stream, name, format, skip_bad)
    except BaseException:
        _close(stream, path)
        raise


def _open_stream(path: Path, stream: io.BufferedReader, name: str, format: str | None, skip_bad: bool) -> Table:
    from quintet.io.csv_table import CsvRows
    from quintet.io.json_rows import read_json, read_jsonl

    if not peek(stream, 1, name):
        raise InputError("is empty", name, "give at least one row")
    named_json = format == "json"
    if format is None or named_json:
        format = _format_by_content(stream, name, format)

    def close() -> None:
        _close(stream, path)

    if format == "jsonl":
        return Table(name, read_jsonl(stream, name, skip_bad, not named_json), close=close)
    if format == "json":
        return Table(name, read_json(stream, name, skip_bad), close=close)
    if format == "xlsx":
        from quintet.io.workbook import SheetRows

        sheet = SheetRows(stream, name)
        return Table(name, sheet, sheet.columns, empty_is_missing=True, close=close)
    if format == "parquet":
        from quintet.io.parquet import ParquetRows

        batches = ParquetRows(stream, name, skip_bad)

        def close_both() -> None:
            batches.close()
            close()

        return Table(name, batches, batches.columns, close=close_both)
    rows = CsvRows(stream, name, _delimiter(stream, name, format), skip_bad)
    return Table(name, rows, rows.columns, empty_is_missing=True, close=close)


def _lines_table(files: Mapping[str, Path], skip_bad: bool) -> Table:
    from quintet.io.lines import LineRows

    if not files:
        raise InputError("no files were named", todo="give at least output=FILE")
    rows = LineRows(files, skip_bad)
    return Table(
        rows.name,
        rows,
        rows.columns,
        empty_is_missing=True,
        reference_separator=REFERENCE_SEPARATOR,
        close=rows.close,
    )


def _refuse_unread(path: Path, format: str | None) -> None:
    """What no reader here understands is said by name, not by the first byte that looks wrong."""
    text = str(path)
    if text.startswith(("http://", "https://", "ftp://", "hf:", "s3:")) and not text.startswith("s3://"):
        todo = "download it first, or pipe it: curl -s URL | quintet score -"
        if text.startswith("hf:"):
            todo = "in Python give the dataset to quintet.score, or save it: load_dataset(NAME).to_parquet(FILE)"
        raise InputError("is an address, and only files are read", text, todo)
    ending = PurePath(path).suffix.lower()
    if format is None and ending in _UNREAD:
        raise InputError(f"{ending} files are not read", text, _UNREAD[ending])


def _format_by_suffix(path: Path) -> str | None:
    pure = PurePath(path)
    if pure.suffix.lower() == ".gz":
        pure = pure.with_suffix("")
    return _SUFFIXES.get(pure.suffix.lower())


def _format_by_content(stream: io.BufferedReader, name: str, expected: str | None) -> str:
    """Told from the first bytes. A `.json` file with a whole object on its first line is read as JSONL."""
    head = peek(stream, 1, name).removeprefix(UTF8_BOM).lstrip()
    first, _, rest = head.partition(b"\n")
    if head[:1] == b"{":
        pretty = first.rstrip()[-1:] in (b"{", b"[", b",")
        many = rest.lstrip()[:1] == b"{"
        # As far as one can see: objects may stand whole on the first lines and over several on later ones.
        whole = all(line.strip()[-1:] in (b"}", b"") for line in head.split(b"\n")[:-1])
        return "json" if pretty or (expected == "json" and not (many and whole)) else "jsonl"
    if head[:1] == b"[" or expected == "json":
        return "json"
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:4] == b"PK\x03\x04":
        return "xlsx"
    return "tsv" if b"\t" in first else "csv"


def _delimiter(stream: io.BufferedReader, name: str, format: str) -> str:
    """Where the comma is the decimal sign, spreadsheets write CSV with semicolons; some write tabs."""
    # What is quoted is text: a tab in a column's name does not separate.
    header = re.sub(rb'"[^"]*"', b"", peek(stream, 1, name).lstrip()).lstrip().partition(b"\n")[0]
    if format == "csv" and b"," not in header:
        return next((mark for mark in ("\t", ";") if mark.encode() in header), ",")
    return "," if format == "csv" else "\t"


def _close(stream: io.BufferedReader, path: Path) -> None:
    if str(path) != STDIN:
        stream.close()
