"""Whatever a user can write into a file, a variable or a parameter: a wrong type is named, and nothing else happens."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import threading
import time
from pathlib import Path

import pytest
from command import quintet, refused

import quintet as package
from quintet._checked import in_words
from quintet.core.calibration import read_calibration
from quintet.core.task import find_task
from quintet.errors import InputError, ModelError, UnknownName, UserError
from quintet.models.folder import describe
from quintet.models.subwords import Subwords

# F12


@pytest.mark.parametrize(
    "metric",
    ["chrf:word_order=1000000000", "chrf:char_order=0", "distinct-2:n=0", "cider:n=-1", "bleu-4:order=10000",
     "g-eval:samples=1000000", "meteor:alpha=nan", "meteor:alpha=inf", "chrf:word_order=" + "9" * 5000,
     "rouge-1:stem=perhaps"],
)  # fmt: skip
def test_f12_parameters_beyond_all_measure_are_refused_at_once(metric: str) -> None:
    began = time.process_time()
    with pytest.raises(UserError) as told:
        package.load(metric)
    assert time.process_time() - began < 20  # what they ask for would take days
    assert metric.partition(":")[0] in str(told.value)


def test_f12_layers_of_a_model_folder_have_a_bound(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text('name="m"\nrole="embedder"\nlayers=999999999\nwidth=4\nmax_tokens=8\n')
    with pytest.raises(ModelError, match="layers is 999999999"):
        describe(tmp_path)


# F16


GOOD = {"question": "Is it?", "metric": "response-length"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ('question = 5', "question is a whole number instead of a text"),
        ('needs = "source"', "needs is a text instead of a list"),
        ('needs = [5]', "a whole number instead of a text"),
        ('low = "a"', "low is a text instead of a number"),
        ('high = true', "high"),
        ('low = nan', "from nan"),
        ('high = inf', "to inf"),
        ('low = 3', "from 3"),
        ('higher_is_better = "no"', "higher_is_better is a text instead of true or false"),
        ('metric = 5', "metric is a whole number"),
        ('of = 5', "of is a whole number"),
        ('of = "typo"', "typo"),
        ('parameters = 5', "parameters is a whole number"),
        ('parameters = { nothing = 1 }', "nothing"),
    ],
)  # fmt: skip
def test_f16_task_files(tmp_path: Path, changes: str, named: str) -> None:
    row = {"question": '"Is it?"', "metric": '"response-length"'}
    key, _, value = changes.partition(" = ")
    row[key] = value
    file = tmp_path / "tasks.toml"
    file.write_text("[mine.dimensions]\nx = { " + ", ".join(f"{k} = {v}" for k, v in row.items()) + " }\n")
    with pytest.raises((InputError, UnknownName)) as told:
        package.score([{"output": "a b"}], "mine", task_file=file, cache=False)
    assert named in str(told.value)


@pytest.mark.parametrize(
    "content",
    ["mine = 5", "[mine]\ndimensions = 5", "[mine]\nabout = 5\n", "[mine]\naliases=5\n", "[mine.dimensions]\nx = 5",
     "[mine.dimensions.x]\n", "x=" + "[" * 9999],
)  # fmt: skip
def test_f16_shapes_of_task_files(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text(content)
    with pytest.raises(UserError, match=r"tasks\.toml"):
        find_task("mine", file)


def test_f16_parameters_in_a_task_file_have_types(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text('[mine.dimensions]\nx = { question = "?", metric = "chrf", parameters = { word_order = "two" } }\n')
    with pytest.raises(InputError, match="chrf: word_order"):
        package.score([{"output": "a", "references": ["a"]}], "mine", task_file=file, cache=False)


CURVE = {"scores": [0.1, 0.9], "values": [1, 5], "low": 1, "high": 5, "higher_is_better": True, "threshold": 0.5}


@pytest.mark.parametrize(
    ("key", "value"),
    [("higher_is_better", "no"), ("threshold", float("nan")), ("threshold", "0.5"), ("scores", 5), ("scores", ["a"]),
     ("values", None), ("low", float("inf")), ("high", 1), ("threshold", [])],
)  # fmt: skip
def test_f16_calibrations(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / "c.json"

    def write(curve: object) -> None:
        file.write_text(json.dumps({"format": "quintet-calibration-1", "dimensions": {"x": curve}}))

    write(CURVE)
    assert read_calibration(file).curves["x"].threshold == 0.5
    for curve in ({**CURVE, key: value}, {k: v for k, v in CURVE.items() if k != key}, 5):
        write(curve)
        with pytest.raises(InputError, match=r"c\.json: the map of x is damaged"):
            read_calibration(file)
    file.write_text("[" * 100_000)
    with pytest.raises(InputError, match="not a calibration"):
        read_calibration(file)


MODEL = {"name": '"m"', "role": '"embedder"', "layers": "2", "width": "4", "max_tokens": "8"}


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "5"), ("role", "[]"), ("layers", '"2"'), ("layers", "2.5"), ("layers", "-1"), ("width", "true"),
     ("questions", '"a"'), ("questions", "[1]"), ("aliases", "[1]"), ("states", '["a"]'), ("on", "5"), ("file", "5"),
     ("start", "1"), ("max_tokens", "0")],
)  # fmt: skip
def test_f16_model_folders(tmp_path: Path, key: str, value: str) -> None:
    def write(plain: dict[str, str]) -> None:
        (tmp_path / "model.toml").write_text("".join(f"{k} = {v}\n" for k, v in plain.items()))

    write(MODEL)
    assert describe(tmp_path).layers == 2
    write({**MODEL, key: value})
    with pytest.raises(ModelError, match=r"model\.toml.*" + key):
        describe(tmp_path)
    if key in MODEL:
        write({k: v for k, v in MODEL.items() if k != key})
        with pytest.raises(ModelError, match=key):
            describe(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["5", "[]", "{}", '{"model": 5}', '{"model": {"type": 5, "vocab": []}}', '{"model": {"vocab": {"a": 1}}}',
     '{"added_tokens": 5, "model": {"type": "WordPiece", "vocab": {}}}', '{"added_tokens": [5], "model": {}}',
     '{"model": {"type": "Unigram", "vocab": [5]}}', "[" * 100_000, "\x00"],
)  # fmt: skip
def test_f16_tokenizer_files(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        Subwords.read(file)


@pytest.mark.parametrize(
    ("name", "value"), [("QUINTET_THREADS", "²"), ("QUINTET_MEMO_BYTES", "x"), ("QUINTET_MEMO_BYTES", "-1"),
                        ("QUINTET_THREADS", "9" * 30)],
)  # fmt: skip
def test_f16_variables(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    from quintet.models.memo import Memo
    from quintet.models.onnx_backend import threads

    class Encoder:
        identity, layers, width, max_tokens = "e", 1, 1, 1

    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"{name} is"):
        threads() if name == "QUINTET_THREADS" else Memo(Encoder())  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["http://[::1", "http://[::1/v1", "http://h:99999999/v1", "http://h:x/v1"])
def test_f16_addresses(tmp_path: Path, url: str) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"output": "a"}\n')
    refused(quintet("score", file, "--metric", f"g-eval:model=openai:m@{url}", cwd=tmp_path), "openai:m@")


@pytest.mark.parametrize(
    "body",
    ["[" * 100_000, '{"choices": [], "usage": {"prompt_tokens": 1' + "0" * 400 + "}}", "[]", "5", '{"choices": 5}',
     '{"choices": [{"message": {"content": "Yes"}, "logprobs": {"content": [{"token": "Yes", "logprob": -1'
     + "0" * 400 + "}]}}]}"],
)  # fmt: skip
def test_f16_a_hostile_server(body: str) -> None:
    from quintet.models.openai_backend import OpenAIModel
    from quintet.models.openai_client import Settings

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        model = OpenAIModel("m", url, "m", Settings(tries=1, keep=False, price_in=1.0))
        with contextlib.suppress(ModelError):  # or it makes sense of it
            assert 0.0 <= model.answers([["question: q", "output: a"]])[0].value <= 1.0
    finally:
        server.shutdown()


def test_f16_words_for_types() -> None:
    assert in_words("Expected `str`, got `int` - at `$.a.b`") == "a.b is a whole number instead of a text"
    assert in_words("Expected `float | null`, got `str`") == "it is a text instead of a number or nothing"
    assert in_words("Object missing required field `x`") == "x is missing"
    assert in_words("Object missing required field `x` - at `$.a`") == "a.x is missing"


@pytest.mark.parametrize("name", ["notes", "evidence"])
@pytest.mark.parametrize("cell", ["5", "true", "0.5", "[" * 100_000, "{}", "[5]", '{"x": 5}', '{"a": 1, "a": 2}', "[["])
def test_f16_notes_and_evidence_that_others_wrote(tmp_path: Path, name: str, cell: str) -> None:
    from quintet.stats.gate import scored_file

    file = tmp_path / "scored.csv"
    cell = cell.replace('"', '""')
    file.write_text(f'id,output,consistency,{name}\n1,a text,0.5,"{cell}"\n2,another text,0.7,\n')
    assert scored_file(str(file), ["consistency"]).values["consistency"].tolist() == [0.5, 0.7]
    assert package.read_scored(file)["consistency"] == [0.5, 0.7]


@pytest.mark.parametrize(
    ("told", "named"),
    [('{"consistency": {"value": "x"}}', "value is a text"), ('{"consistency": {}}', "value is missing"),
     ('{"consistency": {"value": 1, "spans": [[1]]}}', "spans"),
     ('{"consistency": {"value": 1, "flags": "a"}}', "flags")],
)  # fmt: skip
def test_f16_evidence_of_wrong_types_is_named(tmp_path: Path, told: str, named: str) -> None:
    file = tmp_path / "scored.jsonl"
    file.write_text(f'{{"id": "1", "output": "a text", "consistency": 0.5, "evidence": {told}}}\n')
    with pytest.raises(InputError, match=f"row 1: the evidence of consistency .*{named}"):
        package.read_scored(file)


# F24


def test_f24_a_model_folder_names_no_file_outside_itself(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    toml = tmp_path / "m" / "model.toml"
    outside = tmp_path / "outside.onnx"
    outside.write_bytes(b"x")
    for name in ("../outside.onnx", str(outside), "../../etc/passwd"):
        toml.write_text("".join(f"{k} = {v}\n" for k, v in {**MODEL, "file": f'"{name}"'}.items()))
        with pytest.raises(ModelError, match="outside the model's folder"):
            describe(toml.parent)
        with pytest.raises(ModelError, match="outside the model's folder"):
            package.load("gruen-focus", model=f"dir:{toml.parent}").signature  # noqa: B018
    shutil.rmtree(tmp_path / "m")
