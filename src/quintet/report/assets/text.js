/* A text with its evidence. The text is cut at every border of a span, so that pieces never overlap. */
const FAINT = 0.4;
const FIRM = 0.7;
/* Evidence that is given only where something is wrong: it is weak whatever the rest of the report looks like. */
const POINTED_AT = new Set([
  "not entailed", "unsupported", "reads badly", "unlikely", "order", "contradicted", "not in the source", "cannot tell", "at fault",
]);

/* From -1 (as weak as the weakest words of this column) over 0 (nothing to see) to 1 (as strong as the strongest). */
function shade(column, span) {
  if (Number.isNaN(span.value)) return 0;
  if (span.kind === "pair" && span.value < 0) return -1;
  const tone = standingOf(column, span);
  if (span.note === "supported") return Math.max(0, tone);
  if (!POINTED_AT.has(span.note)) return tone;
  return span.kind === "word" ? Math.min(tone, -0.6) : -Math.min(1, Math.max(0.35, 1 - Math.abs(span.value)));
}

function standingOf(column, span) {
  const scale = column.scale[span.kind];
  if (!scale || scale[1] - scale[0] < 1e-9) return 0;
  let place = (span.value - scale[0]) / (scale[1] - scale[0]);
  if (column.better < 0) place = 1 - place;
  if (place < FAINT) return -Math.min(1, Math.max(0.15, (FAINT - place) / FAINT));
  if (place > FIRM) return Math.min(1, (place - FIRM) / (1 - FIRM));
  return 0;
}

function piecesOf(text, marks) {
  const borders = new Set([0, text.length]);
  for (const mark of marks) borders.add(Math.min(mark.start, text.length)).add(Math.min(mark.end, text.length));
  const cuts = [...borders].sort((a, b) => a - b);
  const starts = [...marks].sort((a, b) => a.start - b.start);
  const pieces = [];
  let next = 0;
  let open = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    while (next < starts.length && starts[next].start <= cuts[i]) open.push(starts[next++]);
    open = open.filter((mark) => mark.end > cuts[i]);
    pieces.push({ start: cuts[i], end: cuts[i + 1], marks: [...open] });
  }
  return pieces;
}

/* Draws one field; `places` collects, per span, the elements that show it and those that show its counterpart. */
function drawText(field, text, spans, column, places) {
  const marks = [];
  spans.forEach((span, index) => {
    if (span.field === field) marks.push({ start: span.start, end: span.end, span, index, own: true });
    if (span.other && span.other.field === field) marks.push({ ...span.other, span, index, own: false });
  });
  const wordy = new Set();
  const words = marks.filter((mark) => mark.own && mark.span.kind === "word");
  for (const mark of marks) if (mark.own && mark.span.kind !== "word" && words.some((word) => word.start >= mark.start && word.end <= mark.end)) wordy.add(mark.index);
  const box = make("div", { class: "text", dir: "auto" });
  for (const piece of piecesOf(text, marks)) {
    const shown = text.slice(piece.start, piece.end);
    const own = piece.marks.filter((m) => m.own).sort((a, b) => a.end - a.start - (b.end - b.start));
    const theirs = piece.marks.filter((m) => !m.own).sort((a, b) => a.end - a.start - (b.end - b.start));
    if (!own.length && !theirs.length) {
      box.append(shown);
      continue;
    }
    const element = make("span", { class: own.length ? "ev" : "support" }, shown);
    /* Blanks and marks between the words of a sentence: the words have colours of their own. */
    const between = own.length && own[0].span.kind !== "word" && own.every((mark) => wordy.has(mark.index));
    if (between) element.className = own.some((mark) => shade(column, mark.span) < 0) ? "gap inside" : "gap";
    else if (own.length) paint(element, own, column);
    element.dataset.span = (own[0] || theirs[0]).index;
    for (const mark of own) places[mark.index].own.push(element);
    for (const mark of theirs) places[mark.index].other.push(element);
    box.append(element);
  }
  return box;
}

function paint(element, own, column) {
  const [first, ...around] = own;
  const tone = shade(column, first.span);
  element.classList.add(first.span.kind);
  if (tone !== 0) {
    element.classList.add(tone < 0 ? "weak" : "firm");
    element.style.setProperty("--tone", Math.abs(tone).toFixed(2));
  }
  for (const mark of around) {
    if (mark.span.kind !== "word" && shade(column, mark.span) < 0) element.classList.add("inside");
  }
  element.tabIndex = -1;
  element.setAttribute("role", "button");
}
