const ADDS = " adds"; /* what core/blend.py calls a signal's share of the sum */

/* One example: scores, breakdown, texts side by side, and what supports what. */
function exampleView(data, dialog, orderOf) {
  let current = null;
  let column = data.first || 0;
  let opener = null;

  /* From a list of one dimension that one is shown; else, on opening, the one in which the example stands worst. */
  function open(row, chosen = null, from = null) {
    current = row;
    column = chosen !== null ? chosen : dialog.open ? column : worstColumn(data, row);
    if (!dialog.open) {
      opener = from || document.activeElement;
      dialog.showModal();
      document.body.classList.add("looking");
    }
    draw();
    remember(`#example-${row.number}`);
  }

  function draw() {
    const order = orderOf();
    const place = order.indexOf(current);
    const step = (by) => place + by >= 0 && place + by < order.length && place >= 0 ? order[place + by] : null;
    const move = (name, row, key) => make("button", { type: "button", id: key, disabled: !row, onclick: () => { open(row); byId(key).focus(); } }, name);
    const system = current.system >= 0 ? data.systems[current.system] : "";
    const head = make("header", { class: "example-head" },
      make("div", {}, make("h2", { id: "example-title" }, current.id || `Row ${current.number}`),
        make("p", { class: "soft" }, [system, `row ${current.number}`].filter(Boolean).join(" · "))),
      make("div", { class: "moves" }, move("←", step(-1), "example-before"), move("→", step(1), "example-after"),
        make("button", { type: "button", id: "example-close", "aria-label": "Close", onclick: () => dialog.close() }, "✕")));
    head.querySelector("#example-before").setAttribute("aria-label", "Previous example");
    head.querySelector("#example-after").setAttribute("aria-label", "Next example");
    const strip = make("div", { class: "tabs scores", role: "tablist", "aria-label": "Dimension" });
    const body = make("div", { class: "example-body", role: "tabpanel" });
    const choose = tabs(strip, data.columns.map((c, i) => [make("span", {}, c.label), make("b", {}, figure(current.values[i])), meter(c, current.values[i])]),
      (i) => { column = i; body.replaceChildren(...drawColumn(data, current, i), siblings()); });
    dialog.replaceChildren(head, strip, body);
    choose(Math.min(column, data.columns.length - 1));
    dialog.scrollTop = 0;
  }

  /* Outputs of other systems for the same input. */
  function siblings() {
    const rows = data.rows.filter((row) => row.group === current.group && row !== current).slice(0, 40);
    if (!rows.length) return "";
    const items = rows.map((row) => make("li", {}, make("button", { type: "button", class: "item", onclick: () => open(row) },
      make("b", {}, figure(row.values[column])), make("span", {}, shorten(textOf(data, row, 0) || "", 140)),
      make("small", {}, row.system >= 0 ? data.systems[row.system] : row.id))));
    return make("section", { class: "siblings" }, make("h3", {}, "Other outputs for the same input"), make("ul", {}, ...items));
  }

  dialog.addEventListener("close", () => {
    document.body.classList.remove("looking");
    remember("#examples");
    if (opener && opener.isConnected) opener.focus();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    const target = { ArrowLeft: "example-before", ArrowRight: "example-after" }[event.key];
    if (target && !byId(target).disabled) byId(target).click();
  });
  return open;
}

function remember(hash) {
  try { history.replaceState(null, "", hash); } catch { /* some viewers forbid it */ }
}

/* The view of one score: breakdown and notes, the output on the left, what it was made from on the right. */
function drawColumn(data, row, index) {
  const column = data.columns[index];
  const spans = unpackSpans(data, row, index);
  const places = spans.map(() => ({ own: [], other: [] }));
  const panels = data.fields.map((name, field) => {
    const text = textOf(data, row, field);
    return text === null ? null : panel(data, row, name, field, drawText(field, text, spans, column, places));
  });
  const told = make("p", { class: "told", "aria-live": "polite" });
  const left = make("div", { class: "side" }, panels[0] || make("p", { class: "note" }, row.problem || "no text"),
    make("div", { class: "below" }, told, weakest(data, row, spans, column, places)));
  const right = make("div", { class: "side" }, ...panels.slice(1).filter(Boolean));
  const sides = make("div", { class: panels.slice(1).some(Boolean) ? "sides" : "sides alone" }, left, right);
  const tell = follow(data, row, sides, spans, places, told);
  tell(null);
  return [breakdown(data, row, index), sides];
}

function panel(data, row, name, field, text) {
  const full = fullLengthOf(data, row, field);
  const shown = textOf(data, row, field).length;
  const cut = full > shown + 1 && data.texts[row.texts[field]] instanceof Array
    ? make("p", { class: "soft" }, `The first ${shown.toLocaleString("en")} of ${full.toLocaleString("en")} characters are shown.`) : "";
  return make("section", { class: `panel ${name}`, "aria-label": name }, make("h3", {}, name), make("div", { class: "page", tabindex: name === "output" ? null : 0 }, text), cut);
}

function breakdown(data, row, index) {
  const column = data.columns[index];
  const [, flat, flags, cut] = row.details[index];
  const parts = pairsOf(data, flat);
  const notes = [...flags.map((flag) => data.words[flag]), ...pairsOf(data, cut).map(([field, count]) => `${count} tokens of ${field} were not seen`)];
  const pulls = new Map(parts.filter(([name]) => name.endsWith(ADDS)).map(([name, value]) => [name.slice(0, -ADDS.length), value]));
  const plain = parts.filter(([name]) => !pulls.has(name) && !name.endsWith(ADDS)).map(([name, value]) => part(name, value));
  return make("div", { class: "about" }, column.question ? make("p", { class: "question" }, column.question) : "",
    pulls.size ? blended(parts, pulls) : "",
    plain.length ? make("dl", { class: "parts", "aria-label": "Sub-scores" }, ...plain) : "",
    notes.length ? make("p", { class: "flags" }, ...notes.map((note) => make("span", {}, note))) : "");
}

function part(name, value) {
  const bar = make("span", { class: "meter", "aria-hidden": "true" }, make("i"));
  const bounded = value !== null && value >= 0 && value <= 1;
  if (bounded) bar.firstChild.style.width = `${100 * value}%`;
  else bar.classList.add("none");
  return make("div", { class: "part" }, make("dt", {}, name), make("dd", {}, bar, make("b", {}, Number.isInteger(value) ? String(value) : figure(value))));
}

/* A blend: each signal with its value and with what it added to the sum, from what lowered it most to what raised it most. */
function blended(parts, pulls) {
  const most = Math.max(1e-9, ...[...pulls.values()].map(Math.abs));
  const rows = parts.filter(([name]) => pulls.has(name)).sort((a, b) => pulls.get(a[0]) - pulls.get(b[0])).map(([name, value]) => {
    const pull = pulls.get(name) || 0;
    const bar = make("span", { class: `pull ${pull < 0 ? "down" : "up"}`, "aria-hidden": "true" }, make("i"));
    bar.firstChild.style.width = `${(50 * Math.abs(pull)) / most}%`;
    return make("div", { class: "part", title: `${name}: ${figure(value)}` }, make("dt", {}, name, " ", make("small", {}, figure(value))),
      make("dd", {}, bar, make("b", {}, (pull > 0 ? "+" : "") + figure(pull, 2))));
  });
  return make("div", { class: "blend" }, make("h3", {}, "What lowered and raised it, against rated outputs"), make("dl", { class: "parts", "aria-label": "Sub-scores" }, ...rows));
}

/* The weakest pieces as buttons: the short way to what matters, also where nothing can hover. */
function weakest(data, row, spans, column, places) {
  const weak = spans.map((span, i) => [span, i]).filter(([span, i]) => places[i].own.length && shade(column, span) < 0)
    .sort((a, b) => column.better * (a[0].value - b[0].value) || a[0].start - b[0].start).slice(0, 6);
  if (!weak.length) return spans.length ? make("p", { class: "soft" }, "Nothing here is among the weakest.") : make("p", { class: "soft" }, "No evidence was kept for this score.");
  const buttons = weak.map(([span, i]) => make("button", { type: "button", class: "chip", onclick: () => { places[i].own[0].focus(); } },
    shorten(textOf(data, row, span.field).slice(span.start, span.end), 34), make("b", {}, figure(span.value, 2))));
  return make("p", { class: "weakest" }, make("span", { class: "soft" }, "Weakest"), ...buttons);
}

/* Hover or focus on a piece lights it, lights its counterpart, and says both in words. */
function follow(data, row, sides, spans, places, told) {
  let lit = [];
  let kept = null;
  function tell(index) {
    for (const element of lit) element.classList.remove("lit", "lit-other");
    lit = [];
    if (index === null) {
      told.replaceChildren(spans.length ? "Point at a word, or press Tab and use the arrow keys, to see what supports it." : "");
      return;
    }
    const span = spans[index];
    for (const element of places[index].own) { element.classList.add("lit"); lit.push(element); }
    for (const element of places[index].other) { element.classList.add("lit-other"); lit.push(element); }
    if (places[index].other.length) reveal(places[index].other[0]);
    told.replaceChildren(...sentence(span));
  }
  function quote(field, start, end) {
    return make("q", {}, shorten(textOf(data, row, field).slice(start, end), 90));
  }
  function sentence(span) {
    const words = [quote(span.field, span.start, span.end), " ", make("b", {}, figure(span.value))];
    if (span.other) {
      const verb = span.kind === "pair" ? "belongs with" : "is closest to";
      const text = textOf(data, row, span.other.field);
      const before = text.slice(Math.max(0, span.other.start - 28), span.other.start).replace(/\s+/g, " ");
      const after = text.slice(span.other.end, span.other.end + 28).replace(/\s+/g, " ");
      words.push(` ${verb} `, make("mark", {}, shorten(text.slice(span.other.start, span.other.end), 90)), ` in ${data.fields[span.other.field]}`);
      if (span.other.end - span.other.start < 30) words.push(make("span", { class: "soft" }, `: …${before}`, make("b", {}, text.slice(span.other.start, span.other.end)), `${after}…`));
    }
    if (span.note) words.push(make("span", { class: "soft" }, ` (${span.note})`));
    return words;
  }
  const at = (event) => { const piece = event.target.closest("[data-span]"); return piece ? Number(piece.dataset.span) : null; };
  sides.addEventListener("mouseover", (event) => { if (at(event) !== null) tell(at(event)); });
  sides.addEventListener("mouseleave", () => tell(kept));
  sides.addEventListener("focusin", (event) => { if (at(event) !== null) { kept = at(event); tell(kept); } });
  sides.addEventListener("click", (event) => { const piece = event.target.closest(".ev"); if (piece) piece.focus(); });
  const first = sides.querySelector(".ev");
  if (first) first.tabIndex = 0;
  roving(sides, ".ev");
  return tell;
}

/* Scrolls only the counterpart's own panel, never the page under the reader's pointer. */
function reveal(element) {
  const page = element.closest(".page");
  if (!page || page.scrollHeight <= page.clientHeight + 1) return;
  const box = page.getBoundingClientRect();
  const spot = element.getBoundingClientRect();
  if (spot.top < box.top || spot.bottom > box.bottom) page.scrollTop += spot.top - box.top - page.clientHeight / 3;
}
