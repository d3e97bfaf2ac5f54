"""`quintet bench`, `compare`, `people` and `data` through the real command line, on the public sets where present."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_cli_score import one_line, quintet, write_jsonl

UNIEVAL_TABLE_4 = {
    "naturalness": (0.444, 0.514),
    "coherence": (0.595, 0.613),
    "engagingness": (0.557, 0.605),
    "groundedness": (0.536, 0.575),
    "understandability": (0.380, 0.468),
}
KEYS = {
    "set", "metric", "dimension", "level", "n", "pearson", "spearman", "kendall", "low", "high", "signature",
}  # fmt: skip


def records(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert all(set(record) >= KEYS for record in found)
    return [record for record in found if record["kind"] == "metric"]


@pytest.mark.parametrize("form", ["authors", "file"])
def test_unieval_table_4_from_released_predictions(tmp_path: Path, benchmarks: Path, form: str) -> None:
    file = benchmarks / "topical_chat_usr" / "topical_chat_unieval_with_predictions.json.gz"
    scores = "authors" if form == "authors" else f"UniEval={file}"
    run = quintet("bench", "topical_chat", "--scores", scores, "--data", benchmarks, "-f", "json", cwd=tmp_path)
    found = {r["dimension"]: r for r in records(run) if r["metric"] == "UniEval"}
    for dimension, (pearson, spearman) in UNIEVAL_TABLE_4.items():
        record = found[dimension]
        assert (record["n"], record["level"], record["metric"]) == (360, "pooled", "UniEval")
        assert round(record["pearson"], 3) == pearson
        assert round(record["spearman"], 3) == spearman
        assert record["low"] < record["spearman"] < record["high"]


def test_excluding_the_ground_truth_gives_the_300_row_variant(tmp_path: Path, benchmarks: Path) -> None:
    run = quintet("bench", "topical_chat", "--scores", "authors", "--exclude-systems", "Original Ground Truth",
                  "--data", benchmarks, "-f", "json", cwd=tmp_path)  # fmt: skip
    judged = records(run)
    assert {r["n"] for r in judged} == {300}
    found = {r["dimension"]: r for r in judged if r["metric"] == "UniEval"}
    assert round(found["naturalness"]["spearman"], 3) == 0.455
    assert round(found["understandability"]["spearman"], 3) == 0.378


def test_words_beside_those_people_marked(tmp_path: Path) -> None:
    """CTC, Figure 7: accuracy over single words beside the correlation of whole scores."""
    folder = tmp_path / "xsum_faith"
    folder.mkdir()
    texts = {"A": "the cat sat", "B": "a dog barked loud", "C": "the cat sat there"}
    marked = {"A": [], "B": [(1, 18)], "C": [(13, 18)]}
    lines = [
        "bbcid,system,summary,hallucination_type,hallucinated_span,hallucinated_span_start,hallucinated_span_end,worker_id"
    ]
    for system, text in texts.items():
        for worker in ("wid_0", "wid_1", "wid_2"):
            spans = marked[system] if worker != "wid_2" else []
            lines += [f"1,{system},{text},extrinsic,x,{start},{end},{worker}" for start, end in spans]
            lines += [] if spans else [f"1,{system},{text},NULL,NULL,0,0,{worker}"]
    (folder / "hallucination_annotations_xsum_summaries.csv").write_text("\n".join(lines) + "\n")
    (folder / "factuality_annotations_xsum_summaries.csv").write_text("bbcid,system,is_factual\n")
    (folder / "xsum_docs.jsonl").write_text(json.dumps({"bbcid": "1", "document": "The cat sat."}) + "\n")
    run = quintet("bench", "xsum_faith", "--metric", "ctc-consistency:aligner=D,model=fake:token-tagger",
                  "--token-accuracy", "--data", tmp_path, "-f", "json", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(run.stdout)
    assert found["words"] == 11
    assert found["guess"] == pytest.approx(6 / 11)
    assert round(found["accuracy"] * 11) == pytest.approx(found["accuracy"] * 11)
    run = quintet(
        "bench", "xsum_faith", "--metric", "response-length", "--token-accuracy", "--data", tmp_path, cwd=tmp_path
    )
    assert "says nothing of single words" in run.stderr
    run = quintet("bench", "topical_chat", "--token-accuracy", cwd=tmp_path)
    assert "no metric" in run.stderr


def test_our_metrics_on_a_set(tmp_path: Path, benchmarks: Path) -> None:
    run = quintet("bench", "persona_chat", "--metric", "response-length", "--dims", "engagingness,groundedness",
                  "--data", benchmarks, "-f", "json", cwd=tmp_path)  # fmt: skip
    found = {r["dimension"]: r for r in records(run)}
    # CTC's tables F.1 and F.2, row "word length".
    assert [round(found["engagingness"][k], 4) for k in ("pearson", "spearman", "kendall")] == [0.3910, 0.4220, 0.3267]
    assert [round(found["groundedness"][k], 4) for k in ("pearson", "spearman", "kendall")] == [0.3171, 0.3051, 0.2467]
    assert "response-length|" in found["engagingness"]["signature"]


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv"])
def test_tables_and_plots(tmp_path: Path, benchmarks: Path, form: str) -> None:
    run = quintet("bench", "topical_chat", "--scores", "authors", "--data", benchmarks, "-f", form,
                  *(["--plot", "figures"] if form == "text" else []), cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "UniEval" in run.stdout
    if form == "text":
        # USR's authors did not score the ground truth, 60 of the 360; what UniEval is judged on stays whole.
        assert "n = 300–360" in run.stdout
        assert "Up to 60 items without a score" in run.stdout
        assert {p.suffix for p in (tmp_path / "figures").iterdir()} >= {".png", ".svg"}


def test_bad_score_files(tmp_path: Path, benchmarks: Path) -> None:
    other = write_jsonl(tmp_path / "other.jsonl", [{"id": "zz", "coherence": 1.0}])
    one_line(quintet("bench", "topical_chat", "--scores", other, "--data", benchmarks, cwd=tmp_path), "360", "'zz'")
    no_id = write_jsonl(tmp_path / "no_id.jsonl", [{"coherence": 1.0}])
    one_line(quintet("bench", "topical_chat", "--scores", no_id, "--data", benchmarks, cwd=tmp_path), "no id")
    one_line(quintet("bench", "topical_cat", "--data", benchmarks, cwd=tmp_path), "did you mean topical_chat")
    one_line(
        quintet("bench", "topical_chat", "--dims", "x", "--scores", "authors", "--data", benchmarks, cwd=tmp_path),
        "'x'",
    )
    one_line(quintet("bench", "topical_chat", "--level", "doc", "--data", benchmarks, cwd=tmp_path), "level")


def test_a_set_that_is_not_there_says_where_to_get_it(tmp_path: Path) -> None:
    one_line(quintet("bench", "summeval", "--metric", "rouge-1", "--data", tmp_path, cwd=tmp_path), "summeval")


def test_people_reproduces_usr_table_1(tmp_path: Path, benchmarks: Path) -> None:
    found = json.loads(quintet("people", "topical_chat", "--data", benchmarks, "--json", cwd=tmp_path).stdout)
    coherence = found["agreement"]["coherence"]
    assert (round(coherence["spearman"], 4), round(coherence["pearson"], 4)) == (0.5599, 0.5575)
    assert sum(found["overall"]["all"]["softmax"].values()) == pytest.approx(1.0)
    assert round(found["systems"]["New Human Generated"]["overall"], 2) == 4.78, "Table 2 prints 4.80"
    shown = quintet("people", "topical_chat", "--by-system", "--data", benchmarks, cwd=tmp_path).stdout
    assert "Argmax Decoding" in shown


def test_data_lists_and_exports(tmp_path: Path, benchmarks: Path) -> None:
    listed = json.loads(quintet("data", "--json", "--data", benchmarks, cwd=tmp_path).stdout)
    assert {row["name"]: row["state"] for row in listed}["summeval"] == "intact"
    run = quintet("data", "--export", "sfhot", "--out", "sfhot.jsonl", "--data", benchmarks, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert len((tmp_path / "sfhot.jsonl").read_text().splitlines()) == 875


def scored(path: Path, shift: float) -> Path:
    return write_jsonl(path, [{"id": str(n), "output": "x", "coherence": (n * 7 % 11) / 11 + shift} for n in range(60)])


def test_compare_two_files(tmp_path: Path) -> None:
    a, b = scored(tmp_path / "a.jsonl", 0.1), scored(tmp_path / "b.jsonl", 0.0)
    run = quintet("compare", a, f"old={b}", "-f", "json", cwd=tmp_path)
    (row,) = json.loads(run.stdout)
    assert (row["first"], row["second"], row["n"], row["better"]) == ("a", "old", 60, "a")
    assert row["difference"] == pytest.approx(0.1)
    text = quintet("compare", a, b, cwd=tmp_path)
    assert "60/0/0" in text.stdout
    one_line(quintet("compare", a, cwd=tmp_path), "system")
    one_line(quintet("compare", a, b, "--dims", "coherense", cwd=tmp_path), "did you mean coherence")
    short = write_jsonl(tmp_path / "c.jsonl", [{"id": "0", "coherence": 1.0}])
    assert quintet("compare", a, short, cwd=tmp_path).returncode == 2


def test_compare_systems_of_one_file(tmp_path: Path) -> None:
    rows = [{"id": f"{s}{n}", "doc_id": str(n), "system": s, "fluency": n % 5 + (s == "new") * (n % 3)}
            for s in ("old", "new") for n in range(30)]  # fmt: skip
    run = quintet("compare", write_jsonl(tmp_path / "all.jsonl", rows), "-f", "json", cwd=tmp_path)
    (row,) = json.loads(run.stdout)
    assert {row["first"], row["second"]} == {"old", "new"}
    assert row["better"] == "new"


def test_names_given_to_score_files_are_kept(tmp_path: Path, benchmarks: Path) -> None:
    run = quintet("data", "--export", "sfhot", "--out", "sfhot.jsonl", "--data", benchmarks, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    ids = [json.loads(line)["id"] for line in (tmp_path / "sfhot.jsonl").read_text().splitlines()]
    for name, factor in (("a", 7), ("b", 11)):
        lines = [f"{n},{i},{n * factor % 13},3" for n, i in enumerate(ids)]
        (tmp_path / f"{name}.csv").write_text("\n".join([",id,score,seed", *lines]) + "\n")
    run = quintet("bench", "sfhot", "--scores", "mine=a.csv", "--scores", "theirs=b.csv", "--dims", "natural",
                  "--data", benchmarks, "-f", "json", cwd=tmp_path)  # fmt: skip
    assert [(r["metric"], r["dimension"]) for r in records(run)] == [("mine", "naturalness"), ("theirs", "naturalness")]


def test_a_variant_is_part_of_the_signature(tmp_path: Path, benchmarks: Path) -> None:
    found = set()
    for variant in ("tokenised", "raw"):
        run = quintet("bench", "sfhot", "--metric", "response-length", "--dims", "quality", "--variant", variant,
                      "--data", benchmarks, "-f", "json", cwd=tmp_path)  # fmt: skip
        found.add(records(run)[0]["signature"])
    assert len(found) == 2


def test_altered_predictions_are_refused(tmp_path: Path, benchmarks: Path) -> None:
    import gzip
    import shutil

    shutil.copytree(benchmarks / "novikova2017_d2t", tmp_path / "data" / "novikova2017_d2t")
    file = tmp_path / "data" / "novikova2017_d2t" / "sfhot_unieval_with_predictions.json.gz"
    file.chmod(0o644)
    file.write_bytes(
        gzip.compress(gzip.decompress(file.read_bytes()).replace(b'"naturalness": 0.9', b'"naturalness": 0.1'))
    )
    one_line(quintet("bench", "sfhot", "--scores", "authors", "--data", "data", cwd=tmp_path), "sha256 differs")


def test_a_mistyped_direction_and_a_stray_word_are_named(tmp_path: Path) -> None:
    a, b = scored(tmp_path / "a.jsonl", 0.1), scored(tmp_path / "b.jsonl", 0.0)
    one_line(quintet("compare", a, b, "--lower-is-better", "coherenc", cwd=tmp_path), "did you mean coherence")
    rows = [json.loads(line) for line in b.read_text().splitlines()]
    rows[4]["coherence"] = "n/a"
    one_line(quintet("compare", a, write_jsonl(tmp_path / "c.jsonl", rows), cwd=tmp_path), "'n/a'", "row 5")


def test_people_by_name_where_names_are_published(tmp_path: Path, benchmarks: Path) -> None:
    found = json.loads(quintet("people", "persona_chat", "--data", benchmarks, "--json", cwd=tmp_path).stdout)
    assert {who: told["n"] for who, told in found["overall"].items()} == {
        "all": 900, "annotator_0": 300, "annotator_1": 200, "annotator_2": 200, "annotator_3": 200,
    }  # fmt: skip
