"""What a language model tells of a text that it has read: right, half right and wrong, as generators tell it.

Rules cannot say which sentences are true, or which tellings good; a larger model that has learnt to judge can
(teaching.py). A text is read in stretches, the first one and some from its middle, and each is told several times; most
tellings may not copy longer runs of words. Models that follow instructions may be asked in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from quintet.text.sentences import sentences
from quintet_train.evaluator import sampling
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_texts import summary_form
from quintet_train.evaluator.plain_decoding import Decoder, Read
from quintet_train.evaluator.starting import LanguageStart
from quintet_train.evaluator.tables import Document, Retold, Tables, Told

_LEAST_WORDS, _MOST_WORDS = 5, 60
_LEAST_READ = 12
_BLANKS = ("\u0120", "\u2581")
"""How tokenizers write the blank before a word."""
_COPIES = 0.1
"""Share of the sentences that stand in the text word for word which are kept."""


@dataclass(frozen=True)
class Options(sampling.WriterOptions):
    table = "retelling"

    times: str = "retold"
    """The recipe's table that says how many stretches of a text are told."""
    instructions: tuple[str, ...] = ()
    """One of them is given before each stretch; without any, the text is followed by `TL;DR:`."""
    tellings: int = 3
    """Of each stretch."""
    free: int = 1
    """So many of them may copy as much as they like."""
    copied: int = 8
    """Tokens in a row after which the others may not go on with the text's next word."""
    new_tokens: int = 36
    nucleus: float = 0.95
    temperatures: tuple[float, ...] = (0.7, 0.85, 1.0)
    words: tuple[int, ...] = (60, 120, 200, 300)
    """How much of a text is read, drawn for each stretch."""
    batch: int = 256
    """Stretches at a time."""


class Stretch(NamedTuple):
    document: int
    text: str
    temperature: float
    instruction: str = ""

    @property
    def prompt(self) -> str:
        """As it is read; instructions in the frame of ChatML, whose marks mean nothing inside the text."""
        if not self.instruction:
            return summary_form(self.text)
        text = self.text.replace("<|", "< |")
        return f"user\n{self.instruction}\n\n{text}<|im_end|>\n<|im_start|>assistant\n"


class Tellings(NamedTuple):
    claims: list[Retold]
    """Single sentences, not yet judged."""
    told: list[Told]
    """Whole tellings."""


def stretches(tables: Tables, times: Times, options: Options, rng: Random) -> list[Stretch]:
    """Of each text as many as the recipe's table says: its beginning, then some that begin anywhere."""
    out = []
    for number, document in enumerate(tables.documents):
        for count in range(times.whole(options.times, document.source)):
            text = _stretch(document, count > 0, rng.choice(options.words), rng)
            if len(text.split()) >= _LEAST_READ:
                heat = rng.choice(options.temperatures)
                asked = rng.choice(options.instructions) if options.instructions else ""
                out.append(Stretch(number, text, heat, asked))
    return out


def _stretch(document: Document, anywhere: bool, words: int, rng: Random) -> str:
    """Whole sentences of together about so many words."""
    every = document.read
    first = rng.randrange(len(every)) if anywhere and every else 0
    out: list[str] = []
    for sentence in every[first:]:
        if sum(len(one.split()) for one in out) >= words:
            break
        out.append(sentence)
    return " ".join(out)


def retellings(
    options: Options, tables: Tables, times: Times, seed: int, device: torch.device, texts: Iterable[str] = (),
    own: LanguageStart | None = None,
) -> Tellings:  # fmt: skip
    """Drawn by the seed; the same on the same machine. `texts` teach a tiny model its words; `own`: the recipe's start,
    for options that name none."""
    start = sampling.opened(options.start, texts, seed) if options.start or own is None else own
    rng = Random(f"{seed}:retelling")
    found = stretches(tables, times, options, rng)
    told = list(tellings(start, found, options, device, seed))
    return Tellings(list(claims(tables, found, told, rng)), list(whole_tellings(found, told)))


def claims(
    tables: Tables, found: Sequence[Stretch], told: Sequence[Sequence[str]], rng: Random
) -> Iterator[Retold]:  # fmt: skip
    """Whole sentences of the tellings, each once a text; few of those that were copied."""
    known: set[tuple[int, str]] = set()
    for stretch, own in zip(found, told, strict=True):
        text = tables.documents[stretch.document].text.lower()
        for claim in (one for telling in own for one in whole_sentences(telling)):
            plain = claim.lower().rstrip(".!? ")
            if (stretch.document, plain) in known or (plain in text and rng.random() >= _COPIES):
                continue
            known.add((stretch.document, plain))
            yield Retold(stretch.document, claim)


def whole_tellings(found: Sequence[Stretch], told: Sequence[Sequence[str]]) -> Iterator[Told]:
    """Without a last sentence that broke off; each once a text."""
    known: set[tuple[int, str]] = set()
    for stretch, own in zip(found, told, strict=True):
        for text in (" ".join(whole_sentences(telling)) for telling in own):
            if text and (stretch.document, text.lower()) not in known:
                known.add((stretch.document, text.lower()))
                yield Told(stretch.document, text)


def whole_sentences(telling: str) -> Iterator[str]:
    """Those that came to their end, by a mark or by a line break."""
    line, ended, _ = telling.partition("\n")
    line = line.partition("<|")[0]
    for piece in sentences(line):
        text = line[piece.start : piece.end].strip()
        complete = text[-1:] in ".!?\"'" or (bool(ended) and piece.end >= len(line.rstrip()))
        if complete and _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS:
            yield text


@torch.no_grad()
def tellings(
    start: LanguageStart, found: Sequence[Stretch], options: Options, device: torch.device, seed: int
) -> Iterator[list[str]]:
    """What is told of each stretch, in their order."""
    decoder = Decoder(start.network, device)
    generator = torch.Generator(device).manual_seed(seed)
    opens = word_openings(start.tokenizer).to(device)
    ids = sampling.prompted(start, (one.prompt for one in found))
    out: list[list[str]] = [[] for _ in ids]
    for rows in sampling.by_length(ids, options.batch):
        heat = torch.tensor([found[row].temperature for row in rows], device=device)
        written = _told(decoder, [ids[row] for row in rows], heat, opens, options, generator)
        texts = start.tokenizer.decode_batch(written, skip_special_tokens=False)
        for place, row in enumerate(rows):
            out[row] = texts[place * options.tellings : (place + 1) * options.tellings]
    yield from out


def _told(
    decoder: Decoder, prompts: Sequence[Sequence[int]], heat: Tensor, opens: Tensor, options: Options,
    generator: torch.Generator,
) -> list[list[int]]:  # fmt: skip
    """Every prompt is read once and told several times. `opens`: which tokens begin a word."""
    device, times = decoder.device, options.tellings
    begun = decoder.begun(prompts, options.new_tokens)
    read = Read(*(one.repeat_interleave(times, 1) for one in (begun.read.keys, begun.read.values)))
    several = (begun.ids, begun.lengths, begun.state, heat)
    ids, lengths, state, heat = (one.repeat_interleave(times, 0) for one in several)
    bound = torch.arange(times, device=device).repeat(len(prompts)) >= options.free
    out = torch.zeros(len(ids), 0, dtype=torch.int64, device=device)
    for step in range(options.new_tokens):
        logits = decoder.logits(state) / heat[:, None]
        if options.copied:
            logits.masked_fill_(copying(ids, out, options.copied, opens) & bound[:, None], float("-inf"))
        token = sampling.drawn(logits, options.nucleus, generator)
        out = torch.cat([out, token[:, None]], 1)
        state = decoder.states(token[:, None], (lengths + step)[:, None], read)[:, 0]
    written: list[list[int]] = out.tolist()
    return written


def word_openings(tokenizer: Any) -> Tensor:
    """Which tokens begin a word: those with a blank before it."""
    names = [tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size())]
    return torch.tensor([name.startswith(_BLANKS) and name[1:2].isalnum() for name in names])


def copying(read: Tensor, told: Tensor, most: int, opens: Tensor) -> Tensor:
    """(rows, vocabulary): what may not come next. Where the next word would make `most` tokens in a row the same as
    somewhere in what was read, this word may not, and no bits of words: it would be written without its blank."""
    rows, length = read.shape
    banned = torch.zeros(rows, len(opens), dtype=torch.bool, device=read.device)
    before = most - 1
    if told.shape[1] < before or length < most:
        return banned
    same = torch.ones(rows, length - before, dtype=torch.bool, device=read.device)
    for place in range(before):
        same &= read[:, place : place + length - before] == told[:, told.shape[1] - before + place, None]
    row, column = same.nonzero(as_tuple=True)
    word = read[row, column + before]
    row, word = row[opens[word]], word[opens[word]]
    banned[row] = ~opens
    banned[row, word] = True
    return banned
