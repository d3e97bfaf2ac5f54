"""How much faster than the reference schedule? Same items, same run, ratios printed.

    python benchmarks/speed.py [--documents 1] [--outputs 16] [--layers 24] [--bundled-documents 4] [--rounds 3]

The reference schedule is that of UniEval's released scorer on a T5-v1.1-large (0.8 billion random weights, made in
memory): one dimension after another, the document encoded again for every sentence, batches of eight in the order of
arrival, padded, keys and values of the decoder for every position, a softmax over the whole vocabulary. Against it:

- published: the metric unieval-summarization on the same weights, as `--model dir:…` runs it. Its scores are compared.
- bundled: the task summarization with the models in the package, all signals, and with `--fast`.

The reference and the published path take turns, dimension by dimension, so that other work on the machine hits both.
Ratios are given by the wall clock and by processor time. Needs the extra torch and 8 GB of memory.
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
from made_up import machine, summeval_like

from quintet import api
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.metrics.unieval.prompts import Prompt, prompts_of
from quintet.models import open as opening
from quintet.models.catalog import entry, verify
from quintet.models.subwords import LAST, Subwords
from quintet.models.torch_backend import Loaded
from quintet.models.torch_yes_no import TorchYesNo
from quintet.text.sentences import sentences

BATCH, LONGEST = 8, 1024
SPEC = "fake:t5-v1.1-large"


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
    opening._opened[SPEC, "yes-no"] = TorchYesNo(Loaded(model, subwords, SPEC, LONGEST, 0), release=False)
    reference, theirs, ours = Reference(model, subwords), Clock(), Clock()
    warm = summeval_like(1, 1, seed=9)
    worst, values = 0.0, []
    for name, prompt in prompts_of("summarization").items():
        metric = api.load("unieval-summarization", model=SPEC, dims=name)
        reference.dimension(prompt, [Example("A dog.", "A dog.", None, ("A dog.",))])
        metric.score(warm[:1])
        expected = theirs.run(lambda prompt=prompt: reference.dimension(prompt, examples))
        rows = ours.run(lambda metric=metric: metric.score(examples))
        found = [row[name].value for row in rows]
        worst = max(worst, *(abs(a - b) for a, b in zip(found, expected, strict=True)))
        values += expected
        show(f"T5, {name}", theirs.turns[-1], ours.turns[-1], len(examples))
    print(f"{weights:.2f} billion weights, {given.attention} attention; scores from {min(values):.4f} to "
          f"{max(values):.4f}; largest difference {worst:.1e}")  # fmt: skip
    show("T5, all four dimensions", (theirs.wall, theirs.processor), (ours.wall, ours.processor), len(examples))
    del opening._opened[SPEC, "yes-no"]
    return theirs


def show(name: str, theirs: tuple[float, float], ours: tuple[float, float], count: int) -> None:
    wall, processor = (a / b for a, b in zip(theirs, ours, strict=True))
    print(
        f"{name:28s} reference {theirs[0] / count:8.3f} s ({theirs[1] / count:8.3f} cpu) an output, "
        f"ours {ours[0] / count:8.4f} s ({ours[1] / count:8.4f} cpu): {wall:6.1f} times (cpu {processor:6.1f})",
        flush=True,
    )


def bundled(given: argparse.Namespace, reference: Clock, outputs: int) -> None:
    """The package's own models: the median round, models open."""
    examples = summeval_like(given.bundled_documents, given.outputs)
    items = [Item(example) for example in examples]
    theirs = (reference.wall / outputs * len(items), reference.processor / outputs * len(items))
    for name, options in (("bundled, all signals", {}), ("bundled, --fast", {"fast": True})):
        plan = api.make_plan("summarization", None, None, None, **options)
        list(api.stream(plan, items[:2], api.open_store(False)))
        clock = Clock()
        for _ in range(given.rounds):
            clock.run(lambda plan=plan: list(api.stream(plan, items, api.open_store(False))))
        median = tuple(statistics.median(column) for column in zip(*clock.turns, strict=True))
        show(f"{name} ({len(plan.columns)} dimensions)", theirs, (median[0], median[1]), len(items))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--outputs", type=int, default=16)
    parser.add_argument("--layers", type=int, default=24, help="fewer for a quick look; T5-large has 24")
    parser.add_argument("--attention", default="eager", choices=["eager", "sdpa"],
                        help="eager as in the release; sdpa as newer versions of transformers do")  # fmt: skip
    parser.add_argument("--bundled-documents", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-bundled", action="store_true")
    given = parser.parse_args()
    examples = summeval_like(given.documents, given.outputs)
    print(f"{machine()}; torch {torch.__version__} with {torch.get_num_threads()} threads; {len(examples)} outputs")
    clock = published(given, examples)
    if not given.skip_bundled:
        bundled(given, clock, len(examples))
    return 0


if __name__ == "__main__":
    sys.exit(main())
