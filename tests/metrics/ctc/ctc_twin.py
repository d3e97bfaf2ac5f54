"""CTC written down slowly from the paper: one pair at a time, no batches, no windows, no numpy."""

import math

from tiny_models import build, hugging_face, torch

from quintet.metrics import metrics


def tiny_model(folder, kind, family, **config):
    """A random model as quintet names it, and the same as transformers opens it."""
    folder = build(folder, kind, family, **config)
    return f"dir:{folder}", *hugging_face(folder, family)


def scores(name, examples, spec, **parameters):
    rows = metrics[name].build(model=spec, **parameters).score(examples)
    return [next(iter(row.values())) for row in rows]


def align_embeddings(vectors_a, vectors_b):
    """E: the best cosine of each token of a among those of b (section 3.5)."""

    def unit(vector):
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector]

    units_b = [unit(v) for v in vectors_b]
    return [max(sum(x * y for x, y in zip(unit(v), w, strict=True)) for w in units_b) for v in vectors_a]


def align_tags(model, tokenizer, a, b, total=512, first=255, closed=True):
    """D: sub-words of each word summed, one linear layer, the probability of class 0. RoBERTa's frame, and no
    blank before the first word of either text."""
    words = straight(a).split()
    led = [f" {word}" if i else word for i, word in enumerate(words)]
    pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in led]
    kept, room = [], first
    for piece in pieces:
        kept.append(piece[:room])
        room -= len(kept[-1])
    kept = [piece for piece in kept if piece]
    flat = [i for piece in kept for i in piece]
    context = tokenizer(straight(b), add_special_tokens=False)["input_ids"]
    ids = [0, *flat, 2, 2, *context, 2]
    if len(ids) > total:
        ids = ids[:total] if not closed else [*ids[: total - 1], 2]
    with torch.no_grad():
        states = model.base_model(torch.tensor([ids])).last_hidden_state[0]
    values, at = [], 1
    for piece in kept:
        feature = sum(states[at + k] for k in range(len(piece)))
        values.append(torch.softmax(model.classifier(feature), -1)[0].item())
        at += len(piece)
    return values


def straight(text):
    for curly, plain in (("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"')):
        text = text.replace(curly, plain)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).casefold().strip()


def regress(model, tokenizer, first, second):
    """R: BERT's pooled pair through one linear layer."""
    with torch.no_grad():
        return model(**tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)).logits.item()


def mean(values):
    return sum(values) / len(values)


def harmonic(p, r):
    return 2 * p * r / (p + r)
