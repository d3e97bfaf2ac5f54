/* One request per dimension, so that each score shows as soon as it is there. */
const FIELD_NAMES = ["output", "source", "context", "references", "history"];
const LABELS = {
  output: "Output", source: "Source", context: "Fact it may use, if any", references: "References, one per line, if any", history: "Turns before it, one per line",
};
/* Offered whether a dimension must have them or not: what is there is used. */
const ALWAYS = { summarization: ["source", "references"], dialogue: ["history", "context"], data2text: ["source", "references"], rewriting: ["source"], fact: ["source"], text: [] };
const SAMPLE = {
  source: "The council voted on Monday to repair the old bridge over the river Tarn. Work begins in May and will cost four million euros. The bridge was built in 1903 and has been closed to lorries since last autumn, when engineers found cracks in two of its arches.",
  output: "The council will repair the old bridge over the Tarn from May. Engineers found cracks in all of its towers, and the work will cost nine million dollars.",
  context: "Puffins can dive to sixty metres and stay under water for a minute.",
  references: "The bridge over the Tarn will be repaired from May, after cracks were found in two arches.",
  history: "I saw puffins on the island last week.\nHow lovely! Did they dive for fish?",
};
const LEAST_SPREAD = 0.2; /* one text has too few words to say what is usual */
let taskList = [];
let run = 0;

const headers = () => {
  const token = byId("token").value.trim();
  return { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
};

async function ask(path, body) {
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers: headers(), body: body ? JSON.stringify(body) : undefined });
  if (answer.status === 401) byId("token-label").hidden = false;
  const plain = await answer.json();
  if (!answer.ok) {
    const error = new Error(plain.error ? plain.error.message : `status ${answer.status}`);
    error.wait = answer.status === 429 ? Number(answer.headers.get("Retry-After") || 1) : 0;
    throw error;
  }
  return plain;
}

const chosen = () => taskList.find((task) => task.name === byId("task").value);

function fieldsOf(task) {
  const needed = new Set(task.dimensions.filter((d) => d.metric).flatMap((d) => d.needs));
  for (const name of ALWAYS[task.name] || []) needed.add(name);
  const inputs = FIELD_NAMES.slice(1).filter((name) => needed.has(name));
  return [...inputs.slice(0, 1), "output", ...inputs.slice(1)];
}

function drawFields() {
  const kept = Object.fromEntries([...document.querySelectorAll("#fields textarea")].map((area) => [area.name, area.value]));
  byId("fields").replaceChildren(...fieldsOf(chosen()).map((name) => {
    const area = make("textarea", { name, id: `field-${name}`, spellcheck: "false" });
    area.value = kept[name] || "";
    return make("label", {}, LABELS[name], area);
  }));
}

function example() {
  const values = {};
  for (const area of document.querySelectorAll("#fields textarea")) {
    const lines = area.name === "references" || area.name === "history";
    if (area.value.trim() || area.name === "output") values[area.name] = lines ? area.value.split("\n").filter((line) => line.trim()) : area.value;
  }
  return values;
}

/* Places are counted in characters by the server and in UTF-16 units here. */
function unitsOf(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (place) => place;
  const units = [0];
  for (const character of text) units.push(units[units.length - 1] + character.length);
  return (place) => units[Math.min(place, units.length - 1)];
}

function spansOf(score, data, row) {
  const units = data.fields.map((_, field) => unitsOf(textOf(data, row, field) || ""));
  return (score.spans || []).map((span) => {
    const field = data.fields.indexOf(span.field || "output");
    const other = span.other ? { field: data.fields.indexOf(span.other[0]), start: span.other[1], end: span.other[2] } : null;
    if (other) { other.start = units[other.field](other.start); other.end = units[other.field](other.end); }
    return { kind: span.kind, field, start: units[field](span.start), end: units[field](span.end), value: span.value === null ? NaN : span.value, note: span.note || "", other };
  });
}

function scalesOf(spans) {
  const scales = {};
  for (const kind of ["word", "sentence", "pair"]) {
    const values = spans.filter((s) => s.kind === kind && !Number.isNaN(s.value)).map((s) => s.value).sort((a, b) => a - b);
    if (!values.length) continue;
    const at = (share) => values[Math.round(share * (values.length - 1))];
    scales[kind] = [Math.min(at(0.05), at(0.95) - LEAST_SPREAD), at(0.95)];
  }
  return scales;
}

/* The shape that the report's scripts read. */
function emptyView(values, names) {
  const texts = FIELD_NAMES.map((name) => (values[name] === undefined ? null : [].concat(values[name]).join("\n")));
  const data = { fields: FIELD_NAMES, kinds: ["word", "sentence", "pair"], words: [], systems: [], texts: texts.map((t) => t || ""),
    columns: names.map((label) => ({ label, question: "", low: null, high: null, better: 1, range: null, scale: {} })) };
  const row = { index: 0, number: 1, id: "", system: -1, group: 0, texts: texts.map((t, i) => (t === null ? -1 : i)), problem: "",
    values: names.map(() => null), details: names.map(() => [0, [], [], []]), evidence: [[]], spans: names.map(() => null) };
  return { data, row };
}

function arrived(view, place, answer) {
  const { data, row } = view;
  const about = answer.columns[0];
  const score = answer.rows[0].scores[about.name];
  const word = (text) => data.words.push(text) - 1;
  Object.assign(data.columns[place], { question: about.question, low: about.low, high: about.high, better: about.higher_is_better ? 1 : -1,
    range: [about.low ?? Math.min(0, score.value ?? 0), about.high ?? Math.max(1, score.value ?? 0)] });
  row.values[place] = score.value;
  const pairs = (object) => Object.entries(object || {}).flatMap(([name, value]) => [word(name), value]);
  row.details[place] = [0, pairs(score.parts), (score.flags || []).map(word), pairs(score.cut)];
  row.spans[place] = spansOf(score, data, row);
  data.columns[place].scale = scalesOf(row.spans[place]);
}

function show(view, names, states) {
  const labels = names.map((name, i) => [make("span", {}, name), make("b", {}, states[i] === "done" ? figure(view.row.values[i]) : states[i] === "waiting" ? "" : "failed"), meter(view.data.columns[i], view.row.values[i])]);
  const choose = tabs(byId("scores"), labels, (i) => {
    view.chosen = i;
    byId("view").replaceChildren(...(states[i] === "done" ? drawColumn(view.data, view.row, i) : [make("p", { class: "note" }, states[i] === "waiting" ? "Being computed…" : states[i])]));
  });
  [...byId("scores").children].forEach((button, i) => button.classList.add(states[i] === "done" ? "done" : states[i] === "waiting" ? "waiting" : "failed"));
  byId("result").hidden = false;
  choose(view.chosen);
}

async function judge(event) {
  event.preventDefault();
  const mine = ++run;
  const values = example();
  const able = (d) => d.metric && d.needs.every((need) => values[need] !== undefined && values[need].length);
  const names = chosen().dimensions.filter(able).map((d) => d.name);
  if (!values.output.trim() || !names.length) {
    byId("state").textContent = values.output.trim() ? "Fill in the other texts too." : "There is no output to judge.";
    return;
  }
  const view = emptyView(values, names);
  view.chosen = 0;
  view.asked = false;
  byId("scores").onclick = () => { view.asked = true; };
  const states = names.map(() => "waiting");
  show(view, names, states);
  byId("state").textContent = "Judging…";
  await Promise.all(names.map((name, i) => oneDimension(name, i)));
  if (mine === run && !view.asked) {
    view.chosen = worstColumn(view.data, view.row); // what one wants to see first, unless one has chosen oneself
    show(view, names, states);
  }
  if (mine === run) byId("state").textContent = states.every((s) => s === "done") ? "Done." : "Done, with failures.";

  async function oneDimension(name, i) {
    try {
      const body = { task: chosen().name, dimensions: [name], evidence: true, examples: [values] };
      const answer = await ask("/v1/score", body).catch((error) => {
        if (!error.wait) throw error;
        return new Promise((go) => setTimeout(go, 1000 * error.wait)).then(() => ask("/v1/score", body));
      });
      arrived(view, i, answer);
      states[i] = "done";
    } catch (error) {
      states[i] = error.message;
    }
    if (mine !== run) return;
    if (states[view.chosen] === "waiting" && states[i] === "done") view.chosen = i;
    show(view, names, states);
  }
}

async function begin() {
  try {
    taskList = (await ask("/v1/tasks")).tasks.filter((task) => task.dimensions.some((d) => d.metric));
  } catch (error) {
    byId("state").textContent = error.message;
    byId("token").onchange = begin;
    return;
  }
  byId("state").textContent = "";
  byId("task").replaceChildren(...taskList.map((task) => make("option", { value: task.name }, task.name)));
  drawFields();
  byId("task").onchange = drawFields;
  byId("sample").onclick = () => { for (const area of document.querySelectorAll("#fields textarea")) area.value = SAMPLE[area.name]; };
  byId("form").onsubmit = judge;
  byId("form").onkeydown = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("form").requestSubmit(); };
  document.documentElement.dataset.ready = "yes";
}
begin();
theme();
