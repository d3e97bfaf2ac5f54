"""How much faster than the reference schedule? Same items, same run, ratios printed.

    python benchmarks/speed.py [--documents 1] [--outputs 16] [--layers 24] [--threads 1] [--rounds 3] [--bf16]

The reference schedule is that of UniEval's released scorer on a T5-v1.1-large (0.8 billion random weights, made in
memory): one dimension after another, the document encoded again for every sentence, batches of eight in the order of
arrival, padded, keys and values of the decoder for every position, a softmax over the whole vocabulary. Against it:

- published: the metric unieval-summarization on the same weights, as `--model dir:…` runs it (with --bf16 also as
  `dir:…#bf16`). Its scores are compared.
- bundled: the task summarization with the models in the package, all signals, and with `--fast`; the median round.

All sides score the same items, warmed up on others, without a store. The reference and the published path take turns,
dimension by dimension, so that other work on the machine hits both. Ratios are given by the wall clock and by processor
time. One output costs the reference some 40 seconds on one thread: `--outputs 4` takes a quarter of the time, but a
document then serves four outputs, not sixteen. Needs the extra torch and 8 GB of memory (10 GB with --bf16).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from made_up import machine, summeval_like, with_threads

from quintet import _api as api
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.core.options import Options
from quintet.metrics.unieval.asking import Prompt, prompts_of
from quintet.models import open as opening
from quintet.models.catalog import entry, verify
from quintet.models.subwords import LAST, Subwords
from quintet.models.torch_backend import Loaded
from quintet.models.torch_t5 import TorchYesNo
from quintet.text.sentences import sentences

BATCH, LONGEST = 8, 1024
SPECS = {"published": "fake:t5-v1.1-large", "published, bf16": "fake:t5-v1.1-large-bf16"}
TARGETS = {"published": 2.5, "bundled, all signals": 60, "bundled, --fast": 200}


@dataclass
class Clock:
    """Seconds by the wall and of the processor, summed over turns."""

    wall: float = 0.0
    processor: float = 0.0
    turns: list[tuple[float, float]] = field(default_factory=list)

    def run(self, work: Callable[[], Any]) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        found = work()
        self.turns.append((time.perf_counter() - wall, time.process_time() - processor))
        self.wall, self.processor = (sum(column) for column in zip(*self.turns, strict=True))
        return found


class Reference:
    """UniEval's scorer in our words: its order of work, its batches, its arithmetic."""

    def __init__(self, model: Any, subwords: Subwords) -> None:
        self._model, self._subwords = model, subwords
        self._end = subwords.id(*LAST)
        self._yes, self._no = (int(subwords.split(word).ids[0]) for word in ("Yes", "No"))

    def dimension(self, prompt: Prompt, examples: Sequence[Example]) -> list[float]:
        units = [[p.text for p in sentences(e.output)] if prompt.unit == "sentence" else [e.output] for e in examples]
        asked = [
            prompt.segments((unit, *(e.references[0] if f == "references" else e.text(f) for f in prompt.grounds)))
            for e, own in zip(examples, units, strict=True)
            for unit in own
        ]
        answers = iter(self._score([self._ids(segments) for segments in asked]))
        return [statistics.fmean(next(answers) for _ in own) for own in units]

    def _ids(self, segments: Sequence[str]) -> list[int]:
        ids = [piece for segment in segments for piece in [*self._subwords.split(segment).ids.tolist(), self._end]]
        return ids if len(ids) <= LONGEST else [*ids[: LONGEST - 1], self._end]

    @torch.no_grad()
    def _score(self, inputs: Sequence[list[int]]) -> list[float]:
        scores = []
        for start in range(0, len(inputs), BATCH):
            batch = inputs[start : start + BATCH]
            longest = max(map(len, batch))
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in batch])
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
            labels = torch.full((len(batch), 1), self._no)
            logits = self._model(input_ids=ids, attention_mask=mask, labels=labels).logits
            logits = logits.view(-1, logits.shape[-1])
            yes = torch.softmax(logits, 1)[:, self._yes]
            no = torch.softmax(logits, 1)[:, self._no]
            scores += [(a / (a + b)).item() for a, b in zip(yes, no, strict=True)]
        return scores


def t5(layers: int, attention: str) -> Any:
    """Random weights; the rows of the vocabulary are scaled so that answers lie between the extremes."""
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=32128, d_model=1024, d_kv=64, d_ff=2816, num_layers=layers, num_heads=16, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, attn_implementation=attention,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(0.1)
    return model


def published(given: argparse.Namespace, examples: list[Example]) -> Clock:
    """Prints the comparison on T5 and gives the reference's clock."""
    subwords = Subwords.read(verify(entry("gte-small")) / "tokenizer.json")
    model = t5(given.layers, given.attention)
    weights = sum(p.numel() for p in model.parameters()) / 1e9
    print(f"T5 of {weights:.2f} billion weights, {given.attention} attention", flush=True)
    ours = {name: Clock() for name in SPECS if given.bf16 or name == "published"}
    for name in ours:
        loaded = Loaded(model, subwords, SPECS[name], LONGEST, 0)
        opening._opened[SPECS[name], "yes-no"] = TorchYesNo(loaded, release=False, half="bf16" in name)
    reference, theirs = Reference(model, subwords), Clock()
    worst: dict[str, list[float]] = {name: [] for name in ours}
    values: list[float] = []
    warm = summeval_like(1, 1, seed=9)
    for dimension, prompt in prompts_of("summarization").items():
        reference.dimension(prompt, [Example("A dog.", "A dog.", None, ("A dog.",))])
        expected = theirs.run(lambda prompt=prompt: reference.dimension(prompt, examples))
        values += expected
        for name, clock in ours.items():
            metric = api.load("unieval-summarization", model=SPECS[name], dims=dimension)
            metric.score(warm)
            rows = clock.run(lambda metric=metric: metric.score(examples))
            worst[name] += [abs(row[dimension].value - b) for row, b in zip(rows, expected, strict=True)]
            show(f"{name}, {dimension}", theirs.turns[-1], clock.turns[-1], len(examples))
    print(f"scores of the reference from {min(values):.4f} to {max(values):.4f}")
    for name, clock in ours.items():
        print(
            f"{name}: scores differ by at most {max(worst[name]):.1e}, on average {statistics.fmean(worst[name]):.1e}"
        )
        show(name, (theirs.wall, theirs.processor), (clock.wall, clock.processor), len(examples))
        del opening._opened[SPECS[name], "yes-no"]
    return theirs


def show(name: str, theirs: tuple[float, float], ours: tuple[float, float], count: int) -> None:
    wall, processor = (a / b for a, b in zip(theirs, ours, strict=True))
    print(
        f"{name:28s} reference {theirs[0] / count:8.3f} s ({theirs[1] / count:8.3f} cpu) an output, "
        f"ours {ours[0] / count:8.4f} s ({ours[1] / count:8.4f} cpu): {wall:6.1f} times (cpu {processor:6.1f})"
        + (f"; target {TARGETS[name]:g}" if name in TARGETS else ""),
        flush=True,
    )


def bundled(given: argparse.Namespace, examples: list[Example], reference: Clock) -> None:
    """The package's own models on the reference's items: the median round, models open."""
    items = [Item(example) for example in examples]
    warm = [Item(example) for example in summeval_like(1, 2, seed=9)]
    for name, options in (("bundled, all signals", {}), ("bundled, --fast", {"fast": True})):
        plan = api.make_plan(Options(task="summarization", **options))
        assert len(plan.columns) == len(prompts_of("summarization"))
        list(api.stream(plan, warm, api.open_store(False)))
        clock = Clock()
        for _ in range(given.rounds):
            clock.run(lambda plan=plan: list(api.stream(plan, items, api.open_store(False))))
        wall, processor = (statistics.median(column) for column in zip(*clock.turns, strict=True))
        show(name, (reference.wall, reference.processor), (wall, processor), len(items))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--outputs", type=int, default=16)
    parser.add_argument("--layers", type=int, default=24, help="fewer for a quick look; T5-large has 24")
    parser.add_argument("--attention", default="eager", choices=["eager", "sdpa"],
                        help="eager as in the release; sdpa as newer versions of transformers do")  # fmt: skip
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="of the bundled models; the others run once")
    parser.add_argument("--bf16", action="store_true", help="the published path in bfloat16 as well")
    parser.add_argument("--skip-bundled", action="store_true")
    given = parser.parse_args()
    with_threads(given.threads)
    examples = summeval_like(given.documents, given.outputs)
    print(f"{machine()}; torch {torch.__version__}; {given.threads} thread(s); "
          f"{given.documents} document(s) with {given.outputs} outputs each")  # fmt: skip
    clock = published(given, examples)
    if not given.skip_bundled:
        bundled(given, examples, clock)
    return 0


if __name__ == "__main__":
    sys.exit(main())
