"""What the authors' code does and our own default does not: layers by the model's name, stop words piece by piece, the
`fact: ` before every fact."""

import numpy as np
import pytest

from quintet import load
from quintet.core.example import Example
from quintet.metrics.ctc.alignment import Alignment


@pytest.mark.parametrize(
    ("spec", "layer"),
    [
        ("ctc-consistency:mode=paper,model=hf:roberta-large@main", 17),
        ("ctc-preservation:mode=paper,model=hf:FacebookAI/roberta-large-mnli@main", 9),
        ("ctc-relevance:mode=package,model=dir:/models/bert-base-uncased", 9),
        ("ctc-relevance:mode=paper", 9),
        ("ctc-relevance", 12),
        ("ctc-relevance:mode=paper,layer=5,model=hf:roberta-large@main", 5),
        ("bertscore-f:model=hf:roberta-large-mnli@main", 19),
        ("bertscore-f:model=hf:roberta-base@main", 10),
        ("bertscore-f:model=hf:bert-large-uncased@main", 18),
        ("bertscore-f", 9),
        ("wmd:model=hf:roberta-base@main", 0),
    ],
)
def test_the_layer_follows_the_name_of_the_model(spec, layer):
    assert load(spec).parameters["layer"] == layer


def aligned(text, *pieces):
    """An alignment whose units are `pieces`, as they stand one after the other in `text`."""
    starts = np.cumsum([0, *(len(p) for p in pieces)])[:-1].astype(np.int32)
    ends = np.array([s + len(p) for s, p in zip(starts, pieces, strict=True)], np.int32)
    none = np.full((len(pieces), 2), -1, np.int32)
    return Alignment(text, starts, ends, np.ones(len(pieces)), none, pieces=pieces)


def test_stop_words_are_looked_up_piece_by_piece():
    """RoBERTa's "un" + "do": the package strips a piece and drops the "do" inside the word; the paper's run, which
    does not strip, drops that and nothing else."""
    roberta = aligned(" the cat undo", " the", " cat", " un", "do")
    assert roberta.listed(stripped=True).tolist() == [True, False, False, True]
    assert roberta.listed(stripped=False).tolist() == [False, False, False, True]
    assert roberta.content().tolist() == [False, True, True, True], "our own way looks at words"
    bert = aligned("the undo", "the", "un", "##do")
    assert bert.listed(stripped=True).tolist() == bert.listed(stripped=False).tolist() == [True, False, False]


def test_pieces_of_a_model_reach_the_alignment(tmp_path):
    tiny = pytest.importorskip("tiny_models")
    from quintet.metrics.ctc.aligners import align_vectors
    from quintet.models.open import open_model

    vectors = open_model(f"dir:{tiny.build(tmp_path, 'roberta', 'RobertaModel')}").embed(["the cat"], 1)[0]
    found = align_vectors(vectors, vectors)
    assert "".join(found.pieces) == " the cat"
    assert len(found.pieces) == len(found.values)


@pytest.mark.parametrize(
    ("spec", "fact", "written"),
    [
        ("mode=paper", "Cats sleep.", "fact: Cats sleep."),
        ("mode=paper,aligner=D", "Cats sleep.", "fact: Cats sleep."),
        ("mode=paper", "your persona: i sleep.", "your persona: i sleep."),
        ("mode=package", "Cats sleep.", "Cats sleep."),
        ("mode=quintet", "Cats sleep.", "Cats sleep."),
    ],
)
def test_the_papers_script_writes_fact_before_every_fact(spec, fact, written):
    metric = load(f"ctc-groundedness:{spec}")
    assert metric._grounds(Example("Yes.", context=fact)).text == written
