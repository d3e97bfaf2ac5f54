from hypothesis import given
from hypothesis import strategies as st

from quintet.models.batching import SLACK, batches, in_batches

lengths = st.lists(st.integers(0, 60), max_size=40)
budgets = st.integers(1, 200)


def plain_batches(sizes, budget):
    """The slow twin: take the longest item left, then the next longest ones for as long as the padded batch fits."""
    left = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    plan = []
    while left:
        batch = [left.pop(0)]
        while left and max(1, sizes[batch[0]]) * (len(batch) + 1) <= budget:
            batch.append(left.pop(0))
        plan.append(batch)
    return plan


@given(lengths, budgets)
def test_equals_the_plain_twin(sizes, budget):
    assert batches(sizes, budget) == plain_batches(sizes, budget)


@given(lengths, budgets)
def test_every_item_once_and_within_the_budget(sizes, budget):
    plan = batches(sizes, budget)
    assert sorted(i for batch in plan for i in batch) == list(range(len(sizes)))
    for batch in plan:
        assert len(batch) == 1 or max(sizes[i] for i in batch) * len(batch) <= budget


@given(lengths, budgets)
def test_little_is_padded_where_it_is_asked_for(sizes, budget):
    plan = batches(sizes, budget, 0.9)
    assert sorted(i for batch in plan for i in batch) == list(range(len(sizes)))
    for batch in plan:
        longest = max(sizes[i] for i in batch)
        assert all(sizes[i] + SLACK >= 0.9 * longest for i in batch)


@given(lengths, budgets)
def test_order_is_given_back(sizes, budget):
    items = [f"{i}:{size}" for i, size in enumerate(sizes)]
    assert in_batches(items, sizes, budget, lambda batch: [item.upper() for item in batch]) == [
        i.upper() for i in items
    ]
