"""prep.py near|ends|tell|answer: what needs the GPU and no teacher; through the product's functions, into its own cache files."""

import sys
from between import *

what = sys.argv[1]
c = corpus()
say(what, "corpus")
rec = recipe("judge-teacher-wide")
o = rec.data.options
from quintet_train.evaluator import preparing as P

if what == "near":
    from quintet_train.evaluator import neighbours
    from quintet_train.evaluator.starting import open_encoder

    run = run_of(rec, TE)
    start = open_encoder(o["neighbours"], ())
    near = neighbours.find(start.network.enc, start.tokenizer, c.tables, run.device)
    put(near, X / "near.pkl")
elif what == "ends":
    t = P.with_written_claims(run_of(rec, TE), c, TE / "prepared")
    put(len(t.continued), X / "ends.ok")
    say(len(t.continued), t.continued[0])
elif what == "tell":
    r = with_options(rec, retelling=[x for x in o["retelling"] if x["start"]], answering=None)
    t = P.with_texts_of_models(run_of(r, TE), c.tables, TE / "prepared")
    say(len(t.retold), len(t.told), t.retold[0])
    put(1, X / "tell.ok")
elif what == "answer":
    r = with_options(rec, retelling=None)
    t = P.with_texts_of_models(run_of(r, TE), c.tables, TE / "prepared")
    say(len(t.answered), t.answered[0])
    put(1, X / "answer.ok")
say(what, "done")
