"""Original checkpoint files to safetensors, once: `quintet models convert SOURCE OUT [--base FOLDER]`.

Takes what the authors of CTC, USR, GRUEN, UniEval, IM2 and GRADE released: a folder with pytorch_model.bin, or a state
dict (.ckpt, .pt) whose tensors carry prefixes of their own. Tensors are loaded and nothing else: a file that would run
code is refused. What the architecture needs and the file lacks is named. Import only when torch is wanted.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quintet.core.plain import Cells, Foreign
from quintet.errors import MissingExtra, ModelError
from quintet.models.concepts import SPECIAL, Concepts, gather
from quintet.models.open import PICKLES, revision_of, snapshot

try:
    import torch
    import transformers
    from safetensors.torch import save_file

    from quintet.models import torch_grade
except ImportError as error:
    raise MissingExtra("torch", "torch", "quintet models convert") from error

Tensors = dict[str, torch.Tensor]

_TOKENIZER_FILES = (
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
_STALE = frozenset(
    {
        "architectures",
        "dtype",
        "finetuning_task",
        "id2label",
        "is_decoder",
        "label2id",
        "model_type",
        "num_labels",
        "pruned_heads",
        "torch_dtype",
        "torchscript",
        "transformers_version",
    }
)
"""Settings that are set anew, or that later releases of the library reject or misread."""
_ENCODERS = ("bert", "roberta", "albert")
_CLASSES = {"bert": "Bert", "roberta": "Roberta", "albert": "Albert"}


@dataclass(frozen=True)
class Conversion:
    folder: Path
    architecture: str
    tensors: int
    dropped: tuple[str, ...]
    """Tensors of the file that the architecture has no place for."""


def convert(source: str, out: Path, base: Path | None = None, concepts: Path | None = None) -> Conversion:
    """Writes a model folder that `dir:` opens.

    `base` is a folder with config.json and tokenizer files of the model the checkpoint was tuned from; bare state
    dicts (CTC) come without them. `concepts` is the folder with what GRADE knows of words.
    """
    if out.exists() and any(out.iterdir()):
        raise ModelError(f"{out} is not empty; name a new folder")
    if source.startswith("hf:"):
        place = snapshot(*revision_of(source.removeprefix("hf:")), pickles=True)
    else:
        place = Path(source).expanduser()
    tensors = read_tensors(place)
    home = base or (place if place.is_dir() else place.parent)
    if torch_grade.is_grade(tensors):
        return _write_grade(tensors, home, place, out, concepts)
    pooled = pooled_head(tensors)
    if pooled is not None and pooled.sizes[-1] > MOST_CLASSES:
        return _write_vocabulary(pooled, home, place, out)
    if pooled is not None:
        return _write_pooled(pooled, home, place, out)
    named = rename(tensors)
    config, architecture = _configuration(home, named, place)
    fitting, dropped = _fit(named, config, architecture, place)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        save_file(fitting, made / "model.safetensors", metadata={"format": "pt"})
        config.save_pretrained(made)
        _write_tokenizer(home, config, made)
        if out.exists():
            out.rmdir()
        made.rename(out)
    return Conversion(out, architecture, len(fitting), dropped)


def read_tensors(place: Path) -> Tensors:
    """All tensors of a file, or of the one checkpoint (in one or several files) of a folder."""
    if place.is_dir():
        files = sorted(file for pattern in PICKLES for file in place.glob(pattern) if file.name != "training_args.bin")
        if (place / "pytorch_model.bin.index.json").exists():
            files = sorted(place.glob("pytorch_model-*.bin"))
        elif (place / "pytorch_model.bin").exists():
            files = [place / "pytorch_model.bin"]
        elif len(files) != 1:
            names = ", ".join(file.name for file in files[:5]) or "no checkpoint"
            raise ModelError(f"{place} holds {names}; name the one file to convert")
    elif place.is_file():
        files = [place]
    else:
        raise ModelError(f"{place} does not exist; name a checkpoint file or its folder")
    tensors: Tensors = {}
    for file in files:
        tensors.update(_load(file))
    return tensors


def _load(file: Path) -> Tensors:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the age of a pickle that is refused, or read, all the same
            found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling, zip and end-of-file errors share no base class
        told = " ".join(str(error).split())
        # torch's own words end in advice to load the file with its code.
        reason = "" if told.startswith("Weights only load failed") else f" ({told[:120]})"
        raise ModelError(f"{file} is damaged or holds more than tensors, and is not loaded{reason}") from None
    for wrapper in ("state_dict", "model_state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(wrapper), Mapping):
            found = found[wrapper]
    tensors = {str(k): v for k, v in found.items() if isinstance(v, torch.Tensor)} if isinstance(found, Mapping) else {}
    if not tensors:
        raise ModelError(f"{file} holds no named tensors")
    return tensors


POOLED_HEADS = ("mlp_hidden_", "mlp_out.", "next_sent.", "linear.")
"""What IM2's and USL-H's Lightning modules call the layers over a max-pooled encoder."""


MOST_CLASSES = 100
"""A layer with more outputs is the vocabulary head of IM2's D-MLM and USL-H's MLM."""


@dataclass(frozen=True)
class PooledHead:
    tensors: Tensors
    """Renamed: `encoder.…` and `head.…`."""
    kind: str
    sizes: tuple[int, ...]
    """Outputs of each linear layer, the last being the classes."""


def pooled_head(tensors: Tensors) -> PooledHead | None:
    """VUP, AB-AC, AB-BA, 5-NUF and 5-IES of IM2, NUP of USL-H: an encoder, its maximum over tokens, linear layers."""
    plain = {re.sub(r"^(module|model)\.", "", name): tensor for name, tensor in tensors.items()}
    layers = [name[: -len(".weight")] for name in plain if name.startswith(POOLED_HEADS) and name.endswith(".weight")]
    kind = next((kind for kind in ("bert", "gpt2") if any(name.startswith(f"{kind}.") for name in plain)), None)
    if not layers or kind is None:
        return None
    layers.sort(key=lambda name: (name == "mlp_out", name))
    sizes = tuple(int(plain[f"{name}.weight"].shape[0]) for name in layers)
    out = {f"encoder.{n.removeprefix(kind + '.')}": t for n, t in plain.items() if n.startswith(f"{kind}.")}
    for place, name in enumerate(layers):
        # A sequence of layers has one without weights between each two.
        at = "head" if len(layers) == 1 else f"head.{2 * place}"
        parts = [part for part in ("weight", "bias") if f"{name}.{part}" in plain]
        out.update({f"{at}.{part}": plain[f"{name}.{part}"] for part in parts})
    return PooledHead(out, kind, sizes)


def _encoder_config(tensors: Tensors, kind: str, home: Path, source: Path) -> Foreign:
    path = home / "config.json"
    if not path.is_file():
        todo = f"give the folder of the {kind} model it was tuned from with --base"
        raise ModelError(f"{source} comes without config.json; {todo}")
    plain = {k: v for k, v in json.loads(path.read_text(encoding="utf-8")).items() if k not in _STALE}
    table = next(t for n, t in tensors.items() if n.endswith(("word_embeddings.weight", "wte.weight")))
    return transformers.AutoConfig.for_model(kind, **{**plain, "vocab_size": table.shape[0]})


def _write_vocabulary(found: PooledHead, home: Path, source: Path, out: Path) -> Conversion:
    """One linear layer from the encoder to the words, without the transformation that BERT's own head has."""
    from quintet.models.torch_lm import PLAIN_VOCABULARY

    config = _encoder_config(found.tensors, found.kind, home, source)
    with torch.device("meta"):
        expected = transformers.AutoModel.from_config(config).state_dict()
    tensors = {n.removeprefix("encoder.").replace("head.", PLAIN_VOCABULARY, 1) if n.startswith("head.")
               else n.removeprefix("encoder."): t for n, t in found.tensors.items()}  # fmt: skip
    wanted = [*(name for name in expected if "pooler." not in name), f"{PLAIN_VOCABULARY}weight"]
    missing = sorted(name for name in wanted if name not in tensors)
    if missing:
        raise ModelError(f"{source} lacks {missing[0]} ({len(missing)} tensors missing) and is no D-MLM")
    if tensors[f"{PLAIN_VOCABULARY}weight"].shape != (config.vocab_size, config.hidden_size):
        raise ModelError(f"{source}: its last layer does not fit the vocabulary; give another --base")
    kept = {n: t for n, t in tensors.items() if n in expected or n.startswith(PLAIN_VOCABULARY)}
    config.architectures = [f"{_CLASSES.get(found.kind, 'GPT2')}Model"]
    _write_folder(kept, config, home, out)
    name = f"{_CLASSES.get(found.kind, 'GPT2')} with a plain vocabulary layer"
    return Conversion(out, name, len(kept), tuple(sorted(set(tensors) - set(kept))))


def _write_folder(
    tensors: Tensors, config: Foreign, home: Path, out: Path, description: str = "", concepts: Concepts | None = None
) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        fitting = {name: tensor.float().clone().contiguous() for name, tensor in tensors.items()}
        save_file(fitting, made / "model.safetensors", metadata={"format": "pt"})
        config.save_pretrained(made)
        _write_tokenizer(home, config, made)
        if description:
            (made / "model.toml").write_text(description, encoding="utf-8")
        if concepts is not None:
            concepts.save(made)
        if out.exists():
            out.rmdir()
        made.rename(out)


def _write_pooled(found: PooledHead, home: Path, source: Path, out: Path) -> Conversion:
    from quintet.models.torch_trained import Pooled

    config = _encoder_config(found.tensors, found.kind, home, source)
    last, before = found.sizes[-1], found.sizes[:-1]
    with torch.device("meta"):
        network = Pooled(transformers.AutoModel.from_config(config), last, "max", before, "none", 0.2)
    expected = network.state_dict()
    missing = sorted(set(expected) - set(found.tensors))
    if missing:
        raise ModelError(f"{source} lacks {missing[0]} ({len(missing)} tensors missing) and is no head of IM2")
    wrong = [name for name in expected if expected[name].shape != found.tensors[name].shape]
    if wrong:
        raise ModelError(f"{source}: {wrong[0]} does not fit the configuration; give another --base")
    five = found.sizes[-1] == 5
    labels = [str(n) for n in range(1, 6)] if five else ["no", "yes"]
    description = [
        'role = "pair-classifier"', 'head = "pooled"', f"labels = {json.dumps(labels)}", "max_tokens = 512",
        "", "[input]", "drop_cls = false", "prefix_space = false", f"types = {'false' if five else 'true'}",
        "", "[shape]", 'pooling = "max"', f"layers = {json.dumps(list(found.sizes[:-1]))}", 'activation = "none"',
        "dropout = 0.2", 'loss = ""',
    ]  # fmt: skip
    fitting = {name: found.tensors[name] for name in expected}
    _write_folder(fitting, config, home, out, "\n".join(description) + "\n")
    dropped = tuple(sorted(set(found.tensors) - set(expected)))
    return Conversion(out, f"{_CLASSES.get(found.kind, 'GPT2')} with a pooled head", len(fitting), dropped)


def _write_grade(tensors: Tensors, home: Path, source: Path, out: Path, concepts: Path | None) -> Conversion:
    if concepts is None:
        raise ModelError(f"{source} is GRADE; give the folder with its words and ConceptNet's with --concepts")
    named = torch_grade.convert_tensors(tensors)
    shape = torch_grade.shape_of(named)
    config = _encoder_config(named, "bert", home, source)
    with torch.device("meta"):
        expected = torch_grade.ConceptGrade(transformers.AutoModel.from_config(config), shape).state_dict()
    missing = sorted(set(expected) - set(named))
    if missing:
        raise ModelError(f"{source} lacks {missing[0]} ({len(missing)} tensors missing) and is no GRADE")
    wrong = [name for name in expected if expected[name].shape != named[name].shape]
    if wrong:
        raise ModelError(f"{source}: {wrong[0]} does not fit the configuration; give another --base")
    dropped = tuple(sorted(set(named) - set(expected)))
    strange = [name for name in dropped if not name.startswith(torch_grade.UNUSED)]
    if strange:
        raise ModelError(f"{source} holds {strange[0]}, for which GRADE as it is known here has no use")
    known = gather(concepts, shape["width"])
    if len(known.words) + SPECIAL != shape["keywords"]:
        raise ModelError(
            f"{concepts}: keyword.vocab has {len(known.words)} words, the checkpoint {shape['keywords'] - SPECIAL}"
        )
    description = [
        'role = "pair-classifier"', f'head = "{torch_grade.HEAD}"', "labels = []",
        # 128 with the [CLS] that the release cuts off before the network.
        "max_tokens = 127",
        "", "[input]", "drop_cls = true", "prefix_space = false",
        "", "[shape]", *(f"{name} = {json.dumps(value)}" for name, value in shape.items()),
    ]  # fmt: skip
    _write_folder({n: named[n] for n in expected}, config, home, out, "\n".join(description) + "\n", known)
    return Conversion(out, "GRADE with ConceptNet", len(expected), dropped)


def rename(tensors: Tensors) -> Tensors:
    """The names Hugging Face gives the same tensors.

    CTC-D: `_roberta.*` or `_model.*` with `_classifier.*`; CTC-R: `bert.*` with `dense.*`; BERT of 2019: gamma, beta.
    """
    named: Tensors = {}
    for name, tensor in tensors.items():
        new = re.sub(r"^(module|model)\.(?=(_?roberta|_?bert|_?albert|_model|_classifier|dense)\.)", "", name)
        new = re.sub(r"^_(roberta|bert|albert|model)\.(?:(?:roberta|bert|albert)\.)?", r"\1.", new)
        if new.startswith("model.") and name.startswith(("_model.", "module._model.", "model._model.")):
            new = "albert." + new.removeprefix("model.")
        new = re.sub(r"^_?classifier\.", "classifier.", new)
        new = re.sub(r"^dense\.", "classifier.", new)
        new = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", new)
        new = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", new)
        named[new] = tensor
    if any(re.search(r"(^|\.)_classifier\.", name) for name in tensors):
        # A token tagger has no use for the pooler that came with its encoder.
        named = {name: tensor for name, tensor in named.items() if ".pooler." not in name}
    return named


def architecture_of(names: Cells, bare: bool) -> tuple[str, str]:
    """Model type and transformers class, read off the tensors; `bare`: a token tagger has no pooler and a flat head."""
    if any(name.startswith(("encoder.block.", "decoder.block.")) for name in names):
        return "t5", "T5ForConditionalGeneration"
    kind = next((kind for kind in _ENCODERS if any(name.startswith(f"{kind}.") for name in names)), None)
    if kind is None:
        raise ModelError(
            f"no known architecture has a tensor {min(names)!r}; CTC, USR, GRUEN and T5 files can be converted"
        )
    if "sop_classifier.classifier.weight" in names:
        return kind, "AlbertForPreTraining"
    if any(name.startswith(("lm_head.", "cls.predictions.", "predictions.")) for name in names):
        return kind, f"{_CLASSES[kind]}ForMaskedLM"
    if any(name.startswith("classifier.") for name in names):
        return kind, f"{_CLASSES[kind]}For{'Token' if bare else 'Sequence'}Classification"
    return kind, f"{_CLASSES[kind]}Model"


def _configuration(home: Path, named: Tensors, source: Path) -> tuple[Any, str]:
    pooled = any(".pooler." in name for name in named) or "classifier.dense.weight" in named
    kind, architecture = architecture_of(named, bare=not pooled)
    path = home / "config.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise ModelError(
            f"{source} comes without config.json; give the folder of the {kind} model it was tuned from with --base"
        ) from None
    except ValueError:
        raise ModelError(f"{path} is not JSON") from None
    if plain.get("model_type", kind) != kind:
        raise ModelError(f"{source} holds a {kind} model but {path} describes {plain['model_type']}")
    plain = {name: value for name, value in plain.items() if name not in _STALE}
    head = next((named[n] for n in ("classifier.out_proj.weight", "classifier.weight") if n in named), None)
    if head is not None:
        plain["num_labels"] = head.shape[0]
    table = next((t for n, t in named.items() if n.endswith(("word_embeddings.weight", "shared.weight"))), None)
    if table is not None:
        plain["vocab_size"] = table.shape[0]
    config = transformers.AutoConfig.for_model(kind, **plain)
    config.architectures = [architecture]
    return config, architecture


def _fit(named: Tensors, config: Foreign, architecture: str, source: Path) -> tuple[Tensors, tuple[str, ...]]:
    """The tensors the architecture has a place for; those it needs and the file lacks are an error."""
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config)
    expected = dict(model.state_dict())
    tied = set(getattr(model, "all_tied_weights_keys", None) or getattr(model, "_tied_weights_keys", None) or ())
    missing = sorted(name for name in expected if name not in named and name not in tied)
    if missing:
        raise ModelError(f"{source} lacks {missing[0]} ({len(missing)} tensors missing) and is no {architecture}")
    wrong = sorted(name for name in expected if name in named and named[name].shape != expected[name].shape)
    if wrong:
        have, want = tuple(named[wrong[0]].shape), tuple(expected[wrong[0]].shape)
        raise ModelError(f"{source}: {wrong[0]} has shape {have}, the configuration says {want}; give another --base")
    # Clones: tensors that share memory cannot be written to safetensors.
    fitting = {name: named[name].float().clone().contiguous() for name in expected if name in named}
    return fitting, tuple(sorted(set(named) - set(expected)))


def _write_tokenizer(home: Path, config: Foreign, made: Path) -> None:
    """tokenizer.json, made from older vocabulary files if need be."""
    if (home / "tokenizer.json").exists():
        shutil.copyfile(home / "tokenizer.json", made / "tokenizer.json")
        return
    with tempfile.TemporaryDirectory() as scratch:
        for name in _TOKENIZER_FILES:
            if (home / name).exists():
                shutil.copyfile(home / name, Path(scratch) / name)
        config.save_pretrained(scratch)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(scratch, use_fast=True, local_files_only=True)
            tokenizer.backend_tokenizer.save(str(made / "tokenizer.json"))
        except Exception as error:  # the library raises whatever its parsers raise
            reason = " ".join(str(error).split())[:120]
            raise ModelError(
                f"{home} has no tokenizer that can be read ({reason}); give another folder with --base"
            ) from None
