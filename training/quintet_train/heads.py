"""How each kind of item becomes a batch, a loss and a figure on held-out rows: one class per head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from quintet.errors import InputError
from quintet.models.torch_trained import TopicGraph
from quintet_train import devscore, losses
from quintet_train.encode import Encoded, Limits, TextEncoder, word_weights
from quintet_train.items import Item, PairItem, RankItem, TargetItem, TextItem, WordItem, YesNoItem
from quintet_train.recipe import Model

Batch = dict[str, Tensor]
IGNORED = -100


class Head:
    """What a lesson needs to know of a head; subclasses fill in the four methods."""

    takes: type = PairItem

    def __init__(self, model: Model, encoder: TextEncoder) -> None:
        self.model, self.encoder = model, encoder
        self.limits = Limits(model.max_tokens, model.first_tokens, model.second_tokens, model.truncate, model.drop_cls)

    def prepare(self, items: Sequence[Item]) -> list[Any]:
        """Items of the right kind, or blocks cut from them."""
        wrong = [item for item in items if not isinstance(item, self.takes)]
        if wrong:
            made = type(wrong[0]).__name__
            raise InputError(f"head {self.model.head} learns from {self.takes.__name__}, but the builder made {made}")
        return list(items)

    def collate(self, items: Sequence[Any], seed: int) -> Batch:
        raise NotImplementedError

    def forward(self, network: nn.Module, batch: Batch) -> Tensor:
        if self.model.head in ("sequence", "regressor"):
            return _transformers_logits(network, batch)
        out: Tensor = network(batch)
        return out

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        raise NotImplementedError

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        """Truth and guess of each item (or word) of a batch."""
        raise NotImplementedError

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        """The first one is `score`, by which weights are kept unless the plan names another."""
        raise NotImplementedError

    def _texts(self, rows: Sequence[Encoded]) -> Batch:
        ids = self.encoder.padded([row.ids for row in rows], self.encoder.pad)
        mask = self.encoder.padded([[1] * len(row.ids) for row in rows], 0)
        segments = self.encoder.padded([row.segments for row in rows], 0)
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


class ClassHead(Head):
    """Two or more classes of a text or a pair."""

    takes = PairItem

    def collate(self, items: Sequence[PairItem], seed: int) -> Batch:
        batch = self._texts([self.encoder.pair(item.first, item.second, self.limits) for item in items])
        return {**batch, "labels": torch.tensor([item.label for item in items])}

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        return losses.classes(self.forward(network, batch).float(), batch["labels"])

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        return batch["labels"].tolist(), self.forward(network, batch).float().softmax(-1).tolist()

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        shares = np.asarray(guess)
        hard = shares.argmax(-1).tolist()
        out = {"accuracy": devscore.accuracy(truth, hard)}
        if shares.shape[1] == 2:
            out["matthews"] = devscore.matthews(truth, hard)
            out["auc"] = devscore.area_under_curve(truth, shares[:, 1])
        else:
            out["pearson"] = devscore.pearson(truth, shares @ np.arange(shares.shape[1]))
        return out


class ValueHead(Head):
    """One number for a pair, under squared error."""

    takes = TargetItem

    def collate(self, items: Sequence[TargetItem], seed: int) -> Batch:
        batch = self._texts([self.encoder.pair(item.first, item.second, self.limits) for item in items])
        return {**batch, "labels": torch.tensor([item.target for item in items])}

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        return losses.squared_error(self.forward(network, batch).float().squeeze(-1), batch["labels"])

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        return batch["labels"].tolist(), self.forward(network, batch).float().squeeze(-1).tolist()

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        error = float(np.mean((np.asarray(truth) - np.asarray(guess)) ** 2))
        return {"pearson": devscore.pearson(truth, guess), "minus_error": -error}


class WordHead(Head):
    """A label for each word of the first text, the second being its context."""

    takes = WordItem

    def collate(self, items: Sequence[WordItem], seed: int) -> Batch:
        rows = [self.encoder.pair(" ".join(item.words), item.context, self.limits) for item in items]
        batch = self._texts(rows)
        longest, width = max(len(item.words) for item in items), batch["input_ids"].shape[1]
        weights = np.zeros((len(items), longest, width), np.float32)
        labels = np.full((len(items), longest), IGNORED, np.int64)
        for number, (item, row) in enumerate(zip(items, rows, strict=True)):
            own = word_weights(item.words, row)
            weights[number, : own.shape[0], : own.shape[1]] = own
            seen = own.sum(axis=1) > 0
            labels[number, : len(item.labels)] = np.where(seen, item.labels, IGNORED)
        return {**batch, "word_weights": torch.from_numpy(weights), "labels": torch.from_numpy(labels)}

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        return losses.words(self.forward(network, batch).float(), batch["labels"])

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        labels, hard = batch["labels"], self.forward(network, batch).argmax(-1)
        seen = labels != IGNORED
        return labels[seen].tolist(), hard[seen].tolist()

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        return {"f1_sum": devscore.f1_sum(truth, guess), "accuracy": devscore.accuracy(truth, guess)}


class YesNoHead(Head):
    """P(Yes) against P(No): the first word a T5 writes, or the next word of a decoder after `Answer:`."""

    takes = YesNoItem

    def __init__(self, model: Model, encoder: TextEncoder) -> None:
        super().__init__(model, encoder)
        self.decoder_only = model.head == "yesno-causal"
        before = " " if self.decoder_only else ""
        self.yes, self.no = encoder.word_id(f"{before}Yes"), encoder.word_id(f"{before}No")
        if self.yes == self.no:
            raise InputError("the tokenizer gives Yes and No the same first piece; take another model")

    def collate(self, items: Sequence[YesNoItem], seed: int) -> Batch:
        rows = []
        for item in items:
            if self.decoder_only:
                ids = self.encoder.lines(item.parts, "\nAnswer:", self.limits.total)
            else:
                ids = self.encoder.parts(item.parts, self.limits.total)
            rows.append(Encoded(ids, [0] * len(ids)))
        batch = self._texts(rows)
        batch.pop("token_type_ids")
        return {**batch, "labels": torch.tensor([int(item.yes) for item in items])}

    def word_logits(self, network: nn.Module, batch: Batch) -> Tensor:
        """Logits over the whole vocabulary at the place of the answer."""
        given = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
        if self.decoder_only:
            last = batch["attention_mask"].sum(1) - 1
            out: Tensor = network(**given).logits[torch.arange(len(last), device=last.device), last]
            return out
        settings: Any = network.config
        start = settings.decoder_start_token_id or 0
        begin = torch.full((len(batch["input_ids"]), 1), start, device=batch["input_ids"].device)
        out = network(**given, decoder_input_ids=begin).logits[:, 0]
        return out

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy over the whole vocabulary, as the papers train; scores later look at two words only."""
        words = torch.where(batch["labels"] == 1, self.yes, self.no)
        return losses.classes(self.word_logits(network, batch).float(), words)

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        logits = self.word_logits(network, batch).float()
        return batch["labels"].tolist(), (logits[:, self.yes] - logits[:, self.no]).sigmoid().tolist()

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        hard = [int(share > 0.5) for share in guess]
        return {"auc": devscore.area_under_curve(truth, guess), "accuracy": devscore.accuracy(truth, hard)}


class TextHead(Head):
    """Masked or causal language model on blocks of running text, or on lines (`options.blocks = false`)."""

    takes = TextItem

    def prepare(self, items: Sequence[Item]) -> list[list[int]]:
        texts: list[TextItem] = super().prepare(items)
        room = self.limits.total - (0 if self.encoder.first is None else 2)
        lines = [self.encoder.pieces(item.text)[0] for item in texts]
        if not self.model.options.get("blocks", True):
            return [line[:room] for line in lines if line]
        joined = [piece for line in lines for piece in line]
        return [joined[start : start + room] for start in range(0, len(joined), room)]

    def collate(self, items: Sequence[list[int]], seed: int) -> Batch:
        framed = self.encoder.first is not None
        rows = [[self.encoder.first, *ids, self.encoder.last] if framed else ids for ids in items]
        batch = self._texts([Encoded(list(row), [0] * len(row)) for row in rows])  # type: ignore[arg-type]
        batch.pop("token_type_ids")
        if self.model.head == "causal":
            labels = torch.where(batch["attention_mask"] == 1, batch["input_ids"], IGNORED)
            return {**batch, "labels": labels}
        return self._masked(batch, Random(seed))

    def _masked(self, batch: Batch, rng: Random) -> Batch:
        """15 % of the pieces: 80 % of them masked, 10 % at random, 10 % as they are; at least one in each row."""
        ids, labels = batch["input_ids"].clone(), torch.full_like(batch["input_ids"], IGNORED)
        for row in range(len(ids)):
            inner = list(range(1, int(batch["attention_mask"][row].sum()) - 1))
            chosen = [place for place in inner if rng.random() < 0.15] or [rng.choice(inner)]
            for place in chosen:
                labels[row, place] = ids[row, place]
                draw = rng.random()
                if draw < 0.8:
                    ids[row, place] = self.encoder.mask
                elif draw < 0.9:
                    ids[row, place] = rng.randrange(self.encoder.size)
        return {**batch, "input_ids": ids, "labels": labels}

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        logits = _transformers_logits(network, batch).float()
        labels = batch["labels"]
        if self.model.head == "causal":
            logits, labels = logits[:, :-1], labels[:, 1:]
        return losses.words(logits, labels)

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        return [0.0], [float(self.loss(network, batch))]

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        return {"minus_loss": -float(np.mean(guess))}


class RankHead(Head):
    """GRADE: the true response above the wrong one by a margin."""

    takes = RankItem

    def __init__(self, model: Model, encoder: TextEncoder, topics: TopicGraph) -> None:
        super().__init__(model, encoder)
        self.topics = topics
        self.gap = float(model.options.get("margin", 0.1))

    def collate(self, items: Sequence[RankItem], seed: int) -> Batch:
        """Better ones first, then the worse ones, in one batch."""
        pairs = [(item.context, item.better) for item in items] + [(item.context, item.worse) for item in items]
        batch = self._texts([self.encoder.pair(context, response, self.limits) for context, response in pairs])
        extra = self.topics.batch(pairs)
        return {**batch, **{name: torch.from_numpy(array) for name, array in extra.items()}}

    def _scores(self, network: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        scores = self.forward(network, batch).float().squeeze(-1).sigmoid()
        half = len(scores) // 2
        return scores[:half], scores[half:]

    def loss(self, network: nn.Module, batch: Batch) -> Tensor:
        return losses.margin(*self._scores(network, batch), self.gap)

    def guess(self, network: nn.Module, batch: Batch) -> tuple[list[Any], list[Any]]:
        better, worse = self._scores(network, batch)
        return [1] * len(better) + [0] * len(worse), better.tolist() + worse.tolist()

    def figures(self, truth: list[Any], guess: list[Any]) -> dict[str, float]:
        return {"auc": devscore.area_under_curve(truth, guess)}


def _transformers_logits(network: nn.Module, batch: Batch) -> Tensor:
    given = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    if getattr(network.config, "type_vocab_size", 0) > 1 and "token_type_ids" in batch:
        given["token_type_ids"] = batch["token_type_ids"]
    logits: Tensor = network(**given).logits
    return logits


class HeadLesson:
    """A head with its items: what the trainer sees."""

    def __init__(self, head: Head, train: Sequence[Item], dev: Sequence[Item], batch: int) -> None:
        self.head, self.batch = head, batch
        self.train, self.dev = head.prepare(train), head.prepare(dev)
        self.size = len(self.train)

    def loss(self, network: nn.Module, indexes: Sequence[int], seed: int) -> Tensor:
        batch = self.head.collate([self.train[index] for index in indexes], seed)
        return self.head.loss(network, _moved(batch, network))

    def dev_scores(self, network: nn.Module) -> dict[str, float]:
        """`score` is the head's first figure; nothing without held-out items."""
        truth: list[Any] = []
        guess: list[Any] = []
        for start in range(0, len(self.dev), self.batch):
            batch = self.head.collate(self.dev[start : start + self.batch], start)
            own, guessed = self.head.guess(network, _moved(batch, network))
            truth += own
            guess += guessed
        if not truth:
            return {}
        figures = self.head.figures(truth, guess)
        return {"score": next(iter(figures.values())), **figures}


def _moved(batch: Mapping[str, Tensor], network: nn.Module) -> Batch:
    device = next(network.parameters()).device
    return {name: tensor.to(device) for name, tensor in batch.items()}
