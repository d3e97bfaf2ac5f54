"""Claims that a language model ends: how they are begun, written and looked up; decoding against a plain twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from torch.nn import functional

from quintet.errors import InputError
from quintet_train.evaluator import continuing, facts, language_network, sampling, starting, written_groups
from quintet_train.evaluator.building import groups
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.plain_decoding import Decoder
from quintet_train.evaluator.tables import Continued, load_written, save_written

TEXT = "Helen Brand opened two schools in Otterton on Monday. They were not cheap, the mayor said."
CLAIM = "The mayor, Helen Brand, opened 2 schools in Otterton."
SHAPE = language_network.Shape(50, 32, 2, 4, 2, 48)


def plain_states(weights: dict[str, torch.Tensor], ids: list[int]) -> torch.Tensor:
    """One text, token by token, head by head."""
    each, times = SHAPE.width // SHAPE.heads, SHAPE.heads // SHAPE.groups
    steps = 1.0 / SHAPE.theta ** (torch.arange(0, each, 2).float() / each)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True) + SHAPE.epsilon).sqrt() * weights[f"{name}.weight"]

    def turned(x: torch.Tensor, place: int) -> torch.Tensor:
        left, right = x.chunk(2)
        cos, sin = (place * steps).cos(), (place * steps).sin()
        return torch.cat([left * cos - right * sin, right * cos + left * sin])

    x = weights["emb.weight"][ids]
    for layer in range(SHAPE.layers):
        own = {name: weights[f"blocks.{layer}.{name}.weight"] for name in ("q", "k", "v", "o", "gate", "up", "down")}
        y = norm(x, f"blocks.{layer}.n1")
        mixed = torch.zeros_like(x)
        for place in range(len(ids)):
            for head in range(SHAPE.heads):
                group = head // times
                query = turned((own["q"] @ y[place])[head * each : (head + 1) * each], place)
                cut = slice(group * each, (group + 1) * each)
                keys = torch.stack([turned((own["k"] @ y[n])[cut], n) for n in range(place + 1)])
                values = torch.stack([(own["v"] @ y[n])[cut] for n in range(place + 1)])
                shares = torch.softmax(keys @ query / each**0.5, 0)
                mixed[place, head * each : (head + 1) * each] = shares @ values
        x = x + mixed @ own["o"].T
        y = norm(x, f"blocks.{layer}.n2")
        x = x + (functional.silu(y @ own["gate"].T) * (y @ own["up"].T)) @ own["down"].T
    return norm(x, "norm")


def test_decoding_step_by_step_equals_whole_texts() -> None:
    """Prompts of different lengths, padded on the right and written over."""
    torch.manual_seed(0)
    network = language_network.LanguageModel(SHAPE)
    decoder = Decoder(network, torch.device("cpu"))
    weights = {name: one.detach() for name, one in network.state_dict().items()}
    texts = [[3, 9, 4, 7, 1, 8], [5, 2, 6, 11, 12]]
    lengths = torch.tensor([4, 3])
    with torch.no_grad():
        read = decoder.room(2, 7)
        ids = torch.tensor([texts[0][:4], [*texts[1][:3], 0]])
        states = decoder.states(ids, torch.arange(4).expand(2, -1), read)
        found = [[*states[0, :4]], [*states[1, :3]]]
        for step in range(2):
            token = torch.tensor([[text[size + step]] for text, size in zip(texts, lengths.tolist(), strict=True)])
            fresh = decoder.states(token, (lengths + step)[:, None], read)[:, 0]
            for own, state in zip(found, fresh, strict=True):
                own.append(state)
        for text, own in zip(texts, found, strict=True):
            assert torch.allclose(torch.stack(own), plain_states(weights, text), atol=1e-4)


def test_only_the_nucleus_is_drawn() -> None:
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]])).repeat(4000, 1)
    found = sampling.drawn(logits, 0.7, torch.Generator().manual_seed(0))
    shares = np.bincount(found.numpy(), minlength=4) / 4000
    assert shares == pytest.approx([0.625, 0.375, 0, 0], abs=0.04)
    assert set(sampling.drawn(logits, 0.1, torch.Generator().manual_seed(0)).tolist()) == {0}


@pytest.mark.parametrize(
    ("ending", "kept"),
    [
        (" the mayor of the U.S. town. He left", " the mayor of the U.S. town."),
        (" a school\nTitle: x", " a school"),
        (" a school<|im_end|> user", " a school"),
        ("'s new school, and it was the bes", "'s new school"),
        (" in the", ""),
        ("ed it", ""),
        ("", ""),
    ],
)
def test_an_ending_is_cut_at_its_sentence(ending: str, kept: str) -> None:
    assert continuing.first_sentence("Helen Brand opened", ending) == kept


def test_words_are_looked_up_in_any_form_names_and_figures_as_they_are() -> None:
    known = facts.Known(TEXT)
    assert facts.supported(CLAIM, known)
    assert not facts.supported("Helen Brandt opened two schools.", known)
    assert not facts.supported("Helen Brand opened 3 schools.", known)
    assert facts.supported("The school was opened by mayor Helen Brand.", known)
    found = facts.strange_words("In Otterton Tom Archer opening 12 stables", known)
    assert found == (((12, 15), (16, 22), (31, 33), (34, 41)), 3, 6)
    assert not facts.strange_words("The town opened two schools.", known).clear


def test_made_up_words_are_marked() -> None:
    known = facts.Known(TEXT)
    made = Continued(0, CLAIM, "The mayor, Helen Brand, opened", " a bridge in Lower Marsh.")
    false = written_groups.made_up(made, known, True)
    assert false is not None
    assert [false.text[start:end] for start, end in false.wrong] == ["bridge in Lower Marsh"]
    assert written_groups.made_up(replace(made, ending=" the new schools in Otterton."), known, True) is None
    # Nothing is known about the beginning of a claim that says more than its text.
    loose = written_groups.made_up(replace(made, kept="The bishop opened"), known, False)
    assert loose is not None
    assert loose.text[slice(*loose.wrong[0])] == "bishop"


def test_claims_are_begun_and_looked_up(tables, neighbours, times) -> None:
    begun = continuing.beginnings(tables, times, 25, Random(1))
    assert begun == continuing.beginnings(tables, times, 25, Random(1))
    assert len(begun) == 25
    for one in begun:
        assert one.claim.startswith(one.kept)
        assert one.prompt.endswith(f"TL;DR: {one.kept}")
        assert one.claim not in one.prompt
    made = list(groups("written claims", tables, neighbours, times, 0))
    assert {group.head for group in made} == {"con", "nli"}
    for group in made:
        assert [text.label for text in group.texts] == ([1, 0] if group.head == "con" else [0, 3])
        assert group.texts[0].grounds == group.texts[1].grounds
    fewer = Times({**times._table, "con.windows": {"all": 0.0}})
    assert not list(groups("written claims", tables, neighbours, fewer, 0))
    every = Times({**times._table, "con.windows": {"all": 1.0}})
    assert list(groups("written claims", tables, neighbours, every, 0)) == made, "no chance is drawn"


def test_a_tiny_model_writes_the_same_twice(tables, times, tmp_path: Path) -> None:
    options = continuing.Options("tiny:gpt2", "tiny", claims=12, new_tokens=6, batch=5)
    texts = [text for document in tables.documents for text in document.sentences]
    device = torch.device("cpu")
    found = [continuing.continuations(options, tables, times, 3, device, texts) for _ in range(2)]
    assert found[0] == found[1]
    save_written(found[0], tmp_path / "written.jsonl")
    assert load_written(Continued, tmp_path / "written.jsonl") == found[0]
    start = starting.open_language_model("tiny:gpt2", texts)
    assert len(continuing.sampled(start, ["One two", "Three"], options, device, 0)) == 2
    with pytest.raises(InputError, match="continuing"):
        continuing.Options.of({"start": "tiny:gpt2", "about": "tiny", "claim": 3})
