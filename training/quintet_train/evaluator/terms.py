"""May these corpora be learnt from: the recipe's word and the catalogue's, whichever is narrower."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.errors import InputError
from quintet_train.corpora import Corpus, corpora
from quintet_train.recipe import Source

_TODO = "leave it out, or say that the weights are for yourself: --private"


def check(sources: Sequence[Source], private: bool) -> None:
    """Refuses corpora whose terms forbid shipping weights, and parts of mixed files that are not declared."""
    known = corpora()
    for source in sources:
        facts = known.get(source.path.removesuffix(".gz").removesuffix(".jsonl"))
        if private:
            continue
        if source.release == "no" or (facts is not None and facts.release == "no"):
            licence = facts.licence if facts is not None else source.licence
            raise InputError(f"may not be used for weights that are given away ({licence})", source.path, _TODO)
        if facts is not None and facts.release_sources and source.release in ("yes", "per source"):
            _check_parts(source, facts)
        if facts is not None and facts.release == "unclear" and source.release == "yes":
            raise InputError("has unclear terms; the recipe says that it is free", source.path, 'release = "unclear"')


def _check_parts(source: Source, facts: Corpus) -> None:
    if not source.keep_sources:
        raise InputError("is a mixed file; the recipe must name the parts it takes", source.path, "keep_sources = […]")
    closed = sorted(set(source.keep_sources) - set(facts.release_sources))
    if closed:
        raise InputError(f"{closed[0]} is not free for shipped weights", source.path, 'release = "unclear"')
