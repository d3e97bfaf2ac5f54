"""What the reader learns from, and its network: no label told by wording, no claim that changes another's answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from quintet_train.reader import data
from quintet_train.reader.data import ABSENT, CONTRADICTED, SUPPORTED, Claim, Group

torch = pytest.importorskip("torch")

from quintet_train.reader.network import Reader, Shape  # noqa: E402
from quintet_train.reader.train import Piece, batches, losses  # noqa: E402

SMALL = Shape(vocabulary=60, width=24, layers=2, heads=2, inner=32, positions=66)


def folder_of(tmp_path: Path, name: str, rows: list[dict]) -> Path:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "overlap_rows.tsv").write_text("file\trow\n")
    with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_written_claims_come_in_pairs_of_the_same_words() -> None:
    groups = [group for group in data.written() if group.source == "written facts"]
    assert len(groups) > 100
    for group in groups:
        pairs: dict[int, list[Claim]] = {}
        for claim in group.claims:
            if claim.pair >= 0:
                pairs.setdefault(claim.pair, []).append(claim)
        for pair in pairs.values():
            assert sorted(claim.label == SUPPORTED for claim in pair) == [False, True]


def test_no_context_stands_on_both_sides() -> None:
    groups = list(data.written())
    kept, out = (data.chosen(groups, out=side) for side in (False, True))
    assert out
    assert not {group.context for group in kept} & {group.context for group in out}


def test_balance_weighs_both_labels_alike_within_a_cell() -> None:
    context = "The mill by the river was sold to a baker in the spring of last year."
    copies = [Claim("The mill by the river was sold to a baker.", SUPPORTED)] * 3
    false = [Claim("The mill by the river was sold to a miller.", CONTRADICTED)]
    (group,) = data.balanced([Group("made", "copies", context, (*copies, *false))])
    true = sum(claim.weight for claim in group.claims if claim.label == SUPPORTED)
    assert true / group.claims[-1].weight < 3 * copies[0].weight / false[0].weight


def test_meetings_swap_speakers_and_leave_out_what_is_quoted(tmp_path: Path) -> None:
    wishes = ("a light", "a soft case", "a larger button")
    said = [f"I think that {wish} would make the new remote control much better." for wish in wishes]
    talk = [[who, text] for who in ("Marketing", "Project Manager") for text in said]
    asked = ["Q?", "Marketing wanted a light in the new remote control.", [["0", "5"]]]
    rows = [{"id": name, "turns": talk, "specific": [asked]} for name in ("new", "IS1003a")]
    folder = folder_of(tmp_path, "qmsum/qmsum", rows)
    (source,) = (one for one in data.known_sources() if one.name == "qmsum")
    (group,) = data.meetings(source, folder, Random(0))
    labels = {claim.text: claim.label for claim in group.claims}
    assert labels[asked[1]] == SUPPORTED
    assert labels["Project Manager wanted a light in the new remote control."] == CONTRADICTED
    assert ABSENT not in labels.values()


def piece(claims: list[list[int]], given: list[Claim]) -> Piece:
    made = Piece([0, 5, 6, 7, 2], list(range(5)), [0] * 5, [], [], [])
    for number, ids in enumerate(claims, 1):
        made.starts.append(len(made.ids))
        made.ids.extend([2, *ids, 2])
        made.places.extend(range(5, 7 + len(ids)))
        made.claims.extend([number] * (len(ids) + 2))
        made.given.append(given[number - 1])
        made.faults.append([])
    return made


def test_no_claim_changes_the_answer_to_another() -> None:
    torch.manual_seed(0)
    reader = Reader(SMALL).eval()
    claim = Claim("a", SUPPORTED)
    found = []
    for claims in ([[8, 9]], [[8, 9], [11, 12, 13]], [[11, 12], [8, 9]]):
        (batch,) = batches(iter([piece(claims, [claim] * len(claims))]), 1, 32)
        with torch.no_grad():
            outputs = reader(batch.ids, batch.places, batch.contexts, batch.claims).flatten(0, 1)
        found.append(outputs[batch.at[claims.index([8, 9])]])
    assert torch.allclose(found[0], found[1], atol=1e-5)
    assert torch.allclose(found[0], found[2], atol=1e-5)


def test_order_within_a_context_is_learnt_beside_the_labels() -> None:
    given = [Claim("a", SUPPORTED, pair=0), Claim("b", CONTRADICTED, pair=0)]
    (batch,) = batches(iter([piece([[8], [9]], given)]), 1, 32)
    right = torch.zeros(1, 32, 5)
    right[0, batch.at[0], 0] = right[0, batch.at[1], 1] = 3.0
    wrong = torch.zeros(1, 32, 5)
    wrong[0, batch.at[0], 1] = wrong[0, batch.at[1], 0] = 3.0
    for name in ("verdict", "order"):
        assert losses(right, batch)[name] < losses(wrong, batch)[name]
