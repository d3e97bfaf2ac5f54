"""One folder per paper, plus baselines and blends. Families do not import one another."""

from quintet.core.registry import metrics
from quintet.metrics.baselines.table import register as _baselines
from quintet.metrics.ctc.table import register as _ctc
from quintet.metrics.evaluator.table import register as _evaluator
from quintet.metrics.geval.table import register as _geval
from quintet.metrics.gruen.table import register as _gruen
from quintet.metrics.im2.table import register as _im2
from quintet.metrics.rag.table import register as _rag
from quintet.metrics.unieval.table import register as _unieval
from quintet.metrics.usr.table import register as _usr

for _register in (_evaluator, _ctc, _usr, _unieval, _gruen, _im2, _rag, _geval, _baselines):
    _register(metrics)

__all__ = ["metrics"]
