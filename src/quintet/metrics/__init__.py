"""One folder per paper, plus baselines and the bundled evaluator. Families do not import one another.

`table.toml` names the metrics. Other packages add theirs as entry points of the group `quintet.metrics`:

    [project.entry-points."quintet.metrics"]
    shouting = "my_package.shouting:Shouting"
"""

import tomllib
from importlib.resources import files

from quintet.core.registry import metrics
from quintet.core.task import borrowed_names
from quintet.metrics.evaluator.table import register as _evaluator

_evaluator(metrics)
for _name, _row in tomllib.loads(files(__name__).joinpath("table.toml").read_text(encoding="utf-8")).items():
    metrics.add(_name, f"{__name__}.{_row.pop('target')}", **_row)

metrics.also = borrowed_names

__all__ = ["metrics"]
