"""The catalogue tells the truth about the files, and says so when they are missing or altered."""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
import shutil
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from quintet.data.benchmark import load
from quintet.data.catalog import File, catalog, download, entry, names, status
from quintet.data.rated import canonical, find_folder
from quintet.errors import InputError, UnknownName

STABLE = [
    "summeval",
    "newsroom",
    "dialsummeval",
    "qags_cnn",
    "qags_xsum",
    "topical_chat",
    "persona_chat",
    "sfres",
    "sfhot",
    "bagel",
    "yelp",
    "cnndm_quality",
    "fed_turn",
    "fed_dialog",
    "xsum_faith",
]
DSTC10 = [
    "dstc6",
    "dstc7",
    "humod",
    "persona-see",
    "dailydialog-zhao",
    "persona-zhao",
    "convai2-grade",
    "dailydialog-grade",
    "empathetic-grade",
    "dailydialog-gupta",
    "fed-turn",
    "fed-dial",
    "topical-usr",
    "persona-usr",
]
LISTED = [name for name in names() if "*" not in name]


def test_stable_names_are_there() -> None:
    assert {*STABLE, *(f"dstc10/{name}" for name in DSTC10)} <= set(names())


def test_every_entry_is_complete() -> None:
    for facts in catalog().values():
        assert facts.licence
        assert facts.citation
        assert facts.where
        assert facts.split in ("test", "validation")
        assert facts.task in ("summarization", "dialogue", "data2text", "style transfer", "simplification", "fact")
        assert all(len(file.sha256) == 64 for file in facts.files)


def test_sets_that_repeat_test_sets_are_test_sets() -> None:
    test = {name for name, facts in catalog().items() if facts.split == "test"}
    repeats = {"dstc10/fed-turn", "dstc10/fed-dial", "dstc10/topical-usr", "dstc10/persona-usr", "summac/summeval"}
    plain = {"summeval", "qags_cnn", "qags_xsum", "topical_chat", "persona_chat", "sfres", "sfhot", "bagel", "yelp"}
    assert test == repeats | plain | {"cnndm_quality", "fed_turn", "fed_dialog", "dstc10_hidden/*"} | {
        f"im2/{part}" for part in ("nuf", "cr", "ies", "overall")
    }


@pytest.mark.parametrize("name", LISTED)
def test_what_the_catalogue_says_is_what_is_loaded(name: str, benchmarks: Path) -> None:
    facts, benchmark = entry(name), load(name, benchmarks)
    assert len(benchmark) == facts.size
    assert len(benchmark.systems) == facts.systems
    assert set(benchmark.dimensions) == set(facts.dimensions)
    assert len({example.id for example in benchmark.examples}) == facts.size
    for dimension, ratings in benchmark.ratings.items():
        low, high = benchmark.scales[dimension]
        assert ratings.shape == (facts.size,)
        assert low <= np.nanmin(ratings) <= np.nanmax(ratings) <= high
    for table in benchmark.annotators.values():
        assert len(table) == facts.size


def test_shared_files_are_intact(benchmarks: Path) -> None:
    wrong = {row.entry.name: row.problem for row in status(benchmarks) if row.state != "intact"}
    assert set(wrong) <= {"dstc10_hidden/*"}, wrong


def test_intact_with_or_without_gzip_altered_and_missing(benchmarks: Path, tmp_path: Path) -> None:
    def state() -> tuple[str, str]:
        row = next(row for row in status(tmp_path) if row.entry.name == "gupta_multiref")
        return row.state, row.problem

    name = "gupta2019_multiref/mturk_rating_processed_output.csv"
    assert state() == ("missing", name)
    plain = tmp_path / name
    plain.parent.mkdir()
    content = gzip.decompress((benchmarks / f"{name}.gz").read_bytes())
    plain.write_bytes(content)
    assert state() == ("intact", "")
    plain.write_bytes(content.replace(b"4.8", b"4.9", 1))
    assert state()[0] == "altered"
    assert name in state()[1]
    plain.unlink()
    shutil.copy(benchmarks / f"{name}.gz", f"{plain}.gz")
    assert state() == ("intact", "")
    Path(f"{plain}.gz").chmod(0o644)
    Path(f"{plain}.gz").write_bytes(b"\x1f\x8b broken")
    assert state()[0] == "altered"


def test_unknown_set_suggests_a_near_one() -> None:
    with pytest.raises(UnknownName, match="topical_chat"):
        load("topicalchat")
    with pytest.raises(UnknownName, match="tokenised"):
        load("summeval", variant="tokenized")


def test_hidden_names_cannot_leave_their_folder() -> None:
    with pytest.raises(UnknownName):
        entry("dstc10_hidden/../secret")


def test_missing_file_says_where_to_get_it_and_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load("persona_chat", tmp_path)
    line = str(caught.value)
    assert "\n" not in line
    assert str(tmp_path / "persona_chat_usr" / "pc_usr_data.json") in line
    assert "shikib.com/usr" in line
    assert "--data" in line
    with pytest.raises(InputError, match=r"run quintet data --get predictive_engagement, or name another folder"):
        load("predictive_engagement", tmp_path)


def test_a_set_is_downloaded_where_its_licence_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUINTET_OFFLINE", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    (there / "a.csv").write_bytes(b"id,query\n1,Hi\n")
    good = File("folder/a.csv", hashlib.sha256(b"id,query\n1,Hi\n").hexdigest())
    handler = functools.partial(Quiet, directory=str(there))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        facts = replace(entry("predictive_engagement/convai"), get=f"http://127.0.0.1:{server.server_port}")
        assert download(replace(facts, files=(good,)), here) == here
        assert (here / good.path).read_bytes() == (there / "a.csv").read_bytes()
        with pytest.raises(InputError, match="nothing was kept"):
            download(replace(facts, files=(replace(good, path="other/a.csv", sha256="0" * 64),)), here)
        server.shutdown()
    assert download(replace(facts, files=(good,)), here) == here, "what is intact is not fetched again"
    with pytest.raises(InputError, match=r"persona_chat: cannot be downloaded \(licence: no licence .*shikib.com/usr"):
        download(entry("persona_chat"), here)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_what_can_be_downloaded_has_a_licence_and_a_commit() -> None:
    offered = [facts for facts in catalog().values() if facts.get]
    assert offered
    for facts in offered:
        assert re.search(r"^https://.*/[0-9a-f]{40}/", facts.get + "/"), facts.name
        assert "no licence" not in facts.licence
        assert facts.files
        assert all(file.sha256 for file in facts.files)


def test_folder_search_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUINTET_DATA", raising=False)
    assert find_folder() == Path("benchmarks-data")
    (tmp_path / "benchmarks-data").mkdir()
    assert find_folder() == Path("benchmarks-data")
    named, other = tmp_path / "named", tmp_path / "other"
    named.mkdir()
    other.mkdir()
    monkeypatch.setenv("QUINTET_DATA", str(named))
    assert find_folder() == named
    assert find_folder(other) == other
    with pytest.raises(InputError, match="no such folder"):
        find_folder(tmp_path / "nowhere")


def test_dimension_names() -> None:
    assert canonical("Maintains Context") == canonical("maintains_context") == canonical("coherence") == "coherence"
    assert canonical("Engaging") == canonical("Interesting") == "engagingness"
    assert canonical("Uses Knowledge") == "groundedness"
    assert canonical("Natural") == "naturalness"
    assert canonical("Understandable") == "understandability"
    assert canonical("Overall") == "overall"
    assert canonical("Interesting", "fed") == "interestingness"
    assert canonical("Something New") == "something new"


def test_page_names_every_set() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "sets.md").read_text("utf-8")
    missing = [name for name in names() if f"| `{name}` | {entry(name).size or ''} |" not in page]
    assert missing == []
