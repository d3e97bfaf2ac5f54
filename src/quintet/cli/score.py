"""`quintet score`: a file in, scores with evidence out, and a table one can quote."""

from __future__ import annotations

from typing import Annotated

import typer

from quintet.cli import options

Out = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Write rows here; the name's ending names the format.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="NAME", help="table, jsonl, json, csv, tsv, parquet, xlsx, md."),
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write a page with charts and evidence: FILE.html.")
]
SessionsOut = Annotated[
    str | None, typer.Option("--sessions", metavar="FILE", help="With --task conversation: a row per conversation.")
]
Evidence = Annotated[bool, typer.Option("--evidence", help="Write the evidence for each score beside it.")]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, help="Processes that share the work; same results.")
]
OnCluster = Annotated[
    bool, typer.Option("--ray", help="A Ray cluster (RAY_ADDRESS, else this machine) writes parts into --out; resumes.")
]
Engine = Annotated[
    str | None, typer.Option("--engine", metavar="NAME", help="ray or ray:ADDRESS: a cluster does it; same results.")
]


def score(
    files: options.Files = None,
    output: options.Output = None,
    source: options.Source = None,
    question: options.Question = None,
    context: options.Context = None,
    reference: options.References = None,
    task: options.Task = None,
    dims: options.Dims = None,
    metric: options.Metrics = None,
    columns: options.Columns = None,
    out: Out = None,
    format: Format = None,
    limit: options.Limit = None,
    evidence: Evidence = False,
    report: Report = None,
    sessions_out: SessionsOut = None,
    model: options.Model = None,
    task_file: options.TaskFile = None,
    fast: options.Fast = False,
    calibration: options.Calibration = None,
    input_format: options.InputFormat = None,
    skip_bad: options.SkipBad = False,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    workers: Workers = 1,
    engine: Engine = None,
    ray: OnCluster = False,
) -> None:
    """Scores every row of FILE, or one text; row k of the output is row k of the input."""
    from quintet.cli.scoring import score_all  # what computes is imported when something is computed

    score_all(
        files=files,
        output=output,
        source=source,
        question=question,
        context=context,
        reference=reference,
        task=task,
        dims=dims,
        metric=metric,
        columns=columns,
        out=out,
        format=format,
        limit=limit,
        evidence=evidence,
        report=report,
        sessions_out=sessions_out,
        model=model,
        task_file=task_file,
        fast=fast,
        calibration=calibration,
        input_format=input_format,
        skip_bad=skip_bad,
        cache=cache,
        no_cache=no_cache,
        workers=workers,
        engine=engine,
        ray=ray,
    )
