#!/usr/bin/env bash
# Every job on the files beside this script, in under two minutes: bash examples/tour.sh
# What is written goes to a folder of its own, which is thrown away; name one to keep it: bash examples/tour.sh FOLDER
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
out="${1:-$(mktemp -d)}"
[ $# -gt 0 ] || trap 'rm -rf "$out"' EXIT
mkdir -p "$out"
export QUINTET_CACHE="$out/cache"

step() { echo; echo "== $1"; }
expect() { # expect CODE COMMAND…: a gate that fails exits 3
  local wanted=$1 code=0; shift
  "$@" || code=$?
  [ "$code" = "$wanted" ] || { echo "exit $code instead of $wanted: $*" >&2; exit 1; }
}

step "One text against its source"
quintet score --output "The bridge opened in May." --source "The bridge opened in June." --task fact --fast

step "A task: scores, evidence, a page"
quintet score "$here/summarization.jsonl" --task summarization --fast --limit 6 --evidence --out "$out/summaries.jsonl"
quintet report "$out/summaries.jsonl" --out "$out/summaries.html"
quintet explain "$here/fact.jsonl" --task fact --row 1 --fast

step "Answers from retrieved contexts"
quintet score "$here/rag.jsonl" --task rag --fast --out "$out/rag.jsonl"

step "Claims, each with its verdict and the sentence that decides"
quintet claims "$here/fact.jsonl" --out "$out/claims.jsonl"

step "Conversations, turn by turn"
quintet score "$here/chat.jsonl" --task conversation --fast --out "$out/turns.csv" --sessions "$out/sessions.csv"

step "Which of two is better"
quintet prefer "$here/rewriting.tsv" --task rewriting --fast --out "$out/preferred.jsonl"

step "Checks and overlap with references"
quintet score "$here/rag.jsonl" --metric rouge-l --metric "contains:text=the" --metric response-length
quintet corpus "$here/data2text.csv"

step "Two systems compared, with tests"
quintet score "$here/data2text.csv" --task data2text --fast --out "$out/data2text.csv"
quintet compare "$out/data2text.csv"

step "A gate that passes, and one that does not"
quintet gate "$out/rag.jsonl" --min answer_correctness=0.3 --max-flag "empty source=0"
expect 3 quintet gate "$out/rag.jsonl" --min faithfulness=0.9 --format markdown

step "Scores on the scale of your labels"
quintet calibrate "$here/labelled.jsonl" --task fact --labels consistency=good --fast --out "$out/calibration.json"
quintet score "$here/fact.jsonl" --task fact --fast --calibration "$out/calibration.json"

step "What was run"
quintet history
quintet tasks > "$out/tasks.txt"
quintet metrics > "$out/metrics.txt"

echo
echo "the tour is over"
