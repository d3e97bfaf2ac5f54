"""Masks filled and replies written by real models; needs the torch extra. None of them ever sees the context.

masked:MODEL   a masked model (RoBERTa) writes the missing words from left to right, as many pieces as were taken
causal:MODEL   a decoder goes on from what stands before the mask
seq2seq:MODEL  BART writes the whole text anew, nucleus 0.95, as in CTC's release
"""

from __future__ import annotations

from random import Random
from typing import Any

import torch
from rapidfuzz.distance import Levenshtein

from quintet.errors import InputError
from quintet_train.infill import Infiller
from quintet_train.opening import Base, open_base
from quintet_train.pseudo.rewrite import Paraphraser, Responder
from quintet_train.text.chunks import split_words
from quintet_train.text.masks import MASK, Template

NUCLEUS = 0.95


def nucleus_draw(logits: torch.Tensor, rng: Random, share: float = NUCLEUS, banned: tuple[int, ...] = ()) -> int:
    """One piece from the smallest set of likeliest pieces that holds `share` of the probability."""
    shares = logits.detach().float().clone()
    shares[list(banned)] = -torch.inf
    values, order = shares.softmax(-1).sort(descending=True)
    kept = int((values.cumsum(-1) < share).sum()) + 1
    draw = rng.random() * float(values[:kept].sum())
    place = int((values[:kept].cumsum(-1) < draw).sum())
    return int(order[min(place, kept - 1)])


def model_infiller(kind: str, spec: str) -> Infiller:
    if kind not in ("masked", "causal", "seq2seq"):
        raise InputError(f"infiller must be ngram, masked:MODEL, causal:MODEL or seq2seq:MODEL, not {kind}:{spec}")
    base = open_base(spec, {"masked": "mlm"}.get(kind, kind))
    base.network.eval()
    return {"masked": masked_infiller, "causal": causal_infiller, "seq2seq": seq2seq_infiller}[kind](base)


def masked_infiller(base: Base) -> Infiller:
    """Each mask becomes as many mask pieces as its answer had; they are drawn one after another."""
    coder = base.encoder
    special = tuple({coder.first or 0, coder.last, coder.pad, coder.mask})

    def fill(template: Template, rng: Random) -> str | None:
        ids: list[int] = [coder.first or 0]
        holes: list[tuple[int, int]] = []
        answers = iter(template.answers)
        for word in template.words:
            if word == MASK:
                size = len(coder.pieces(next(answers))[0])
                holes.append((len(ids), len(ids) + size))
                ids += [coder.mask] * size
            else:
                ids += coder.pieces(word)[0]
        ids.append(coder.last)
        if len(ids) > 500:
            return None
        with torch.no_grad():
            for place in (place for start, end in holes for place in range(start, end)):
                logits = base.network(input_ids=torch.tensor([ids])).logits[0, place]
                ids[place] = nucleus_draw(logits, rng, banned=special)
        fillings = [coder.tokenizer.decode(ids[start:end]).strip() for start, end in holes]
        return _put(template, fillings)

    return fill


def causal_infiller(base: Base) -> Infiller:
    """Continues the text before the mask by about as many pieces as were taken out."""
    coder = base.encoder

    def fill(template: Template, rng: Random) -> str | None:
        fillings: list[str] = []
        before: list[str] = []
        answers = iter(template.answers)
        for word in template.words:
            if word != MASK:
                before.append(word)
                continue
            size = max(1, len(coder.pieces(next(answers))[0]) + rng.choice((-1, 0, 1)))
            ids = [coder.last, *coder.pieces(" ".join(before))[0]]
            ids = write(base, ids, size, rng, stop=False)
            fillings.append(" ".join(split_words(coder.tokenizer.decode(ids).strip())))
            before += fillings[-1].split()
        return _put(template, fillings)

    return fill


def seq2seq_infiller(base: Base) -> Infiller:
    """The template goes in with the model's own mask tokens; what comes out is matched against it by the caller."""
    coder = base.encoder

    def fill(template: Template, rng: Random) -> str | None:
        ids: list[int] = [] if coder.first is None else [coder.first]
        for word in template.words:
            ids += [coder.mask] if word == MASK else coder.pieces(word)[0]
        torch.manual_seed(rng.getrandbits(31))
        with torch.no_grad():
            out = base.network.generate(
                torch.tensor([[*ids[:1000], coder.last]]), do_sample=True, top_p=NUCLEUS, top_k=0, max_length=256
            )
        text: str = coder.tokenizer.decode(out[0].tolist(), skip_special_tokens=True)
        return " ".join(split_words(text))

    return fill


def _put(template: Template, fillings: list[str]) -> str | None:
    if not all(fillings):
        return None
    pending = iter(fillings)
    return " ".join(next(pending) if word == MASK else word for word in template.words)


def write(base: Base, ids: list[int], count: int, rng: Random, stop: bool = True) -> list[int]:
    """Up to `count` new pieces after `ids`."""
    out: list[int] = []
    room = int(getattr(base.config, "n_positions", 0) or getattr(base.config, "max_position_embeddings", 1024))
    with torch.no_grad():
        while len(out) < count:
            given: Any = torch.tensor([[*ids, *out][-room:]])
            logits = base.network(input_ids=given).logits[0, -1]
            piece = nucleus_draw(logits, rng, banned=() if stop else (base.encoder.last,))
            if stop and piece == base.encoder.last:
                break
            out.append(piece)
    return out


def causal_responder(spec: str, longest: int = 40) -> Responder:
    """A reply to one turn alone (UniEval used DialoGPT-small): fluent, but knows neither history nor fact."""
    base = open_base(spec, "causal")
    base.network.eval()

    def reply(last_turn: str, rng: Random) -> str | None:
        ids = [*base.encoder.pieces(last_turn)[0], base.encoder.last]
        text: str = base.encoder.tokenizer.decode(write(base, ids, longest, rng)).strip()
        return text or None

    return reply


def seq2seq_paraphraser(spec: str, candidates: int = 10) -> Paraphraser:
    """CTC's way: `paraphrase: SENTENCE`, ten samples (top 120, nucleus 0.95), the one furthest in characters."""
    base = open_base(spec, "seq2seq")
    base.network.eval()
    coder = base.encoder

    def paraphrase(sentence: str, rng: Random) -> str:
        ids = [*([] if coder.first is None else [coder.first]), *coder.pieces(f"paraphrase: {sentence}")[0]]
        torch.manual_seed(rng.getrandbits(31))
        with torch.no_grad():
            out = base.network.generate(
                torch.tensor([[*ids[:500], coder.last]]),
                do_sample=True,
                top_k=120,
                top_p=NUCLEUS,
                num_return_sequences=candidates,
                max_length=256,
            )
        texts = [coder.tokenizer.decode(row.tolist(), skip_special_tokens=True).strip() for row in out]
        return max(
            (text for text in texts if text), key=lambda text: Levenshtein.distance(text, sentence), default=sentence
        )

    return paraphrase
