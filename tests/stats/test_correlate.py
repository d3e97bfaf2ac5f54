"""Levels, missing values and constant documents, against loops over scipy."""

import numpy as np
import pytest
from scipy import stats

from quintet.errors import UserError
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM, LEVELS, POOLED, Layout, correlate

FOREIGN = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}


@pytest.fixture
def table():
    """Twelve documents by seven systems, one document constant for people, one for the second metric, some NaN."""
    rng = np.random.default_rng(5)
    documents = np.repeat(np.arange(12), 7)
    systems = np.tile(np.arange(7), 12)
    order = rng.permutation(84)
    quality = rng.normal(size=84) + 0.4 * systems
    ratings = np.stack([np.clip(quality + rng.normal(size=84), -2, 4).round(), quality.round(1)])
    scores = np.stack([quality + rng.normal(size=84), rng.normal(size=84).round(1), quality])
    ratings[0, documents == 3] = 2
    scores[1, documents == 4] = 1 / 3
    scores[2, [5, 60]] = np.nan
    return documents[order], systems[order], ratings[:, order], scores[:, order]


def plain(level, name, documents, systems, rating, score):
    here = np.isfinite(rating) & np.isfinite(score)
    documents, systems, rating, score = documents[here], systems[here], rating[here], score[here]
    if level == POOLED:
        return FOREIGN[name](score, rating), 0
    if level == BY_SYSTEM:
        means = [(score[systems == s].mean(), rating[systems == s].mean()) for s in np.unique(systems)]
        return FOREIGN[name](*np.array(means).T), 0
    kept = []
    skipped = 0
    for document in np.unique(documents):
        x, y = score[documents == document], rating[documents == document]
        if len(set(x)) == 1 or len(set(y)) == 1:
            skipped += 1
        else:
            kept.append(FOREIGN[name](x, y))
    return np.mean(kept), skipped


@pytest.mark.parametrize("level", LEVELS)
def test_levels_agree_with_loops_over_scipy(table, level):
    documents, systems, ratings, scores = table
    found = correlate(ratings, scores, Layout.of(84, documents, systems), level)
    for name, values in found.values.items():
        for m in range(3):
            for d in range(2):
                expected, skipped = plain(level, name, documents, systems, ratings[d], scores[m])
                assert values[m, d] == pytest.approx(expected, abs=1e-12), (name, m, d)
                assert found.skipped[m, d] == skipped
    assert found.dropped.tolist() == [[0, 0], [0, 0], [2, 2]]
    assert found.n.tolist() == [[84, 84], [84, 84], [82, 82]]
    if level == BY_DOCUMENT:
        assert found.groups.tolist() == [[11, 12], [10, 11], [11, 12]]
    if level == BY_SYSTEM:
        assert (found.groups == 7).all()


def test_scores_of_their_own_for_each_dimension(table):
    _, _, ratings, scores = table
    both = correlate(ratings, scores[None, :2])
    assert both.values["spearman"][0, 1] == correlate(ratings[1], scores[1]).values["spearman"][0, 0]


def test_input_is_not_changed(table):
    documents, systems, ratings, scores = table
    before = scores.copy(), ratings.copy()
    correlate(ratings, scores, Layout.of(84, documents, systems), BY_DOCUMENT)
    np.testing.assert_array_equal(scores, before[0])
    np.testing.assert_array_equal(ratings, before[1])


def test_documents_of_unequal_size():
    documents = ["a", "a", "a", "b", "b", "c", "d", "d", "d", "d"]
    x = np.array([1.0, 2, 3, 5, 4, 9, 1, 3, 2, 4])
    y = np.array([1.0, 2, 3, 4, 5, 1, 1, 2, 3, 4])
    found = correlate(y, x, Layout.of(10, documents), BY_DOCUMENT)
    assert found.skipped[0, 0] == 1
    assert found.values["spearman"][0, 0] == pytest.approx((1 - 1 + 0.8) / 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: correlate([1, 2, 3], [1, 2]), "3 items"),
        (lambda: correlate([1, 2, np.nan], [1, 2, 3]), "only 2 of 3 items"),
        (lambda: correlate([1, 2, 3, np.nan], [1, 2, 3, 4], nan="raise"), "1 of 4 items lack"),
        (lambda: correlate([1, 2, 3], [1, 2, 3], level=BY_DOCUMENT), "needs document ids"),
        (lambda: correlate([1, 2, 3], [1, 2, 3], level=BY_SYSTEM), "needs system ids"),
        (lambda: correlate([1, 2, 3], [1, 2, 3], Layout.of(3, systems=["a"] * 3), BY_SYSTEM), "only one system"),
        (lambda: correlate([1, 2, 3], [1, 2, 3], level="summary"), "unknown level 'summary'"),
        (lambda: Layout.of(3, documents=["a"]), "3 items but 1 document ids"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(UserError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["foo", "Spearman", "tau"])
def test_an_unknown_statistic_is_refused_everywhere(name: str) -> None:
    from quintet.errors import UnknownName
    from quintet.stats.agreement import pairwise_agreement
    from quintet.stats.significance import bootstrap, permutation_test, williams_test

    ratings, scores = np.arange(9.0), np.arange(9.0) % 4
    for call in (
        lambda: correlate(ratings, scores, statistics=[name]),
        lambda: bootstrap(ratings, scores, statistic=name),
        lambda: permutation_test(ratings, scores, scores[::-1], statistic=name),
        lambda: williams_test(ratings, scores, scores[::-1], statistic=name),
        lambda: pairwise_agreement(np.stack([ratings, scores], axis=1), [name]),
    ):
        with pytest.raises(UnknownName):
            call()
