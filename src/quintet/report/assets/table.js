/* The list of examples: filter, sort, page; rows are built only for the page that is seen. */
const PAGE_ROWS = 50;

function exampleTable(data, openExample) {
  const state = { query: "", system: "", dimension: data.first || 0, from: null, to: null, flagged: false, order: "input", page: 0 };
  const lower = [];
  let found = data.rows;

  const hay = (row) => row.texts.map((place) => {
    if (place < 0) return "";
    if (lower[place] === undefined) lower[place] = (typeof data.texts[place] === "string" ? data.texts[place] : data.texts[place][0]).toLowerCase();
    return lower[place];
  });

  function matches(row) {
    if (state.system !== "" && row.system !== Number(state.system)) return false;
    const value = row.values[state.dimension];
    if (state.from !== null && !(value !== null && value >= state.from)) return false;
    if (state.to !== null && !(value !== null && value <= state.to)) return false;
    if (state.flagged && !notesOf(data, row).length) return false;
    const query = state.query.toLowerCase().trim();
    return !query || row.id.toLowerCase().includes(query) || hay(row).some((text) => text.includes(query));
  }

  function compare() {
    if (state.order === "input") return (a, b) => a.index - b.index;
    if (state.order === "input-down") return (a, b) => b.index - a.index;
    const [key, way] = state.order.split(":");
    const sign = way === "up" ? 1 : -1;
    if (key === "id") return (a, b) => sign * a.id.localeCompare(b.id, "en", { numeric: true }) || a.index - b.index;
    if (key === "system") return (a, b) => sign * (data.systems[a.system] || "").localeCompare(data.systems[b.system] || "", "en") || a.index - b.index;
    return (a, b) => {
      const [x, y] = [a.values[key], b.values[key]];
      if (x === null || y === null) return (x === null) - (y === null) || a.index - b.index;
      return sign * (x - y) || a.index - b.index;
    };
  }

  function refresh() {
    found = data.rows.filter(matches).sort(compare());
    state.page = 0;
    draw();
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
    const first = state.page * PAGE_ROWS;
    const shown = found.slice(first, first + PAGE_ROWS);
    head();
    byId("table").tBodies[0].replaceChildren(...shown.map(line));
    const start = byId("table").tBodies[0].firstElementChild;
    if (start) start.tabIndex = 0;
    byId("count").textContent = found.length === data.rows.length ? `${found.length.toLocaleString("en")} examples` : `${found.length.toLocaleString("en")} of ${data.rows.length.toLocaleString("en")} examples`;
    byId("page").textContent = `Page ${state.page + 1} of ${pages}`;
    byId("before").disabled = state.page === 0;
    byId("after").disabled = state.page + 1 >= pages;
    document.querySelector(".pager").hidden = pages === 1;
  }

  const many = data.systems.length > 1;
  const headings = [["Id", "id"], ...(many ? [["System", "system"]] : []), ["Output", null], ...data.columns.map((c, i) => [c.label, String(i)])];

  function head() {
    const cells = headings.map(([name, key], place) => {
      const cell = make("th", { scope: "col", role: "columnheader", class: place > (many ? 2 : 1) ? "n" : "" });
      if (key === null) { cell.append(name); return cell; }
      const way = state.order === `${key}:up` ? "ascending" : state.order === `${key}:down` ? "descending" : "none";
      cell.setAttribute("aria-sort", way);
      cell.append(make("button", { type: "button", "data-key": key, onclick: () => sortBy(key) }, name));
      return cell;
    });
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : undefined;
    byId("table").tHead.replaceChildren(make("tr", { role: "row" }, ...cells));
    if (focused !== undefined) byId("table").tHead.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  /* First click: worst first, since that is what one looks for. */
  function sortBy(key) {
    const worst = key in data.columns ? (data.columns[key].better > 0 ? "up" : "down") : "up";
    const other = worst === "up" ? "down" : "up";
    state.order = state.order === `${key}:${worst}` ? `${key}:${other}` : `${key}:${worst}`;
    byId("order").value = state.order;
    refresh();
  }

  function line(row) {
    const text = textOf(data, row, 0);
    const notes = notesOf(data, row);
    const output = make("td", { class: "output", role: "cell" }, make("span", { class: "clamp" }, text === null ? "" : shorten(text, 220)),
      notes.length ? make("span", { class: "flags" }, ...notes.slice(0, 2).map((note) => make("span", {}, shorten(note, 60)))) : "");
    const values = data.columns.map((c, i) => make("td", { class: "n value", role: "cell", "data-label": c.label }, make("span", {}, figure(row.values[i])), meter(c, row.values[i])));
    return make("tr", { role: "row", tabindex: -1, "data-index": row.index, "aria-label": `Example ${row.id || row.number}` },
      make("td", { class: "id", role: "cell" }, row.id || `#${row.number}`),
      many ? make("td", { class: "system", role: "cell" }, row.system >= 0 ? data.systems[row.system] : "") : "", output, ...values);
  }

  /* The dimension one has asked for, by order or by bounds; null leaves it to the example. */
  function chosen() {
    const [key] = state.order.split(":");
    return key in data.columns ? Number(key) : state.from !== null || state.to !== null ? state.dimension : null;
  }

  const body = byId("table").tBodies[0];
  const rowAt = (event) => { const line = event.target.closest("tr[data-index]"); return line ? data.rows[line.dataset.index] : null; };
  body.addEventListener("click", (event) => { if (rowAt(event)) openExample(rowAt(event), chosen(), event.target.closest("tr")); });
  body.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && rowAt(event)) { event.preventDefault(); openExample(rowAt(event), chosen(), event.target.closest("tr")); }
  });
  roving(body, "tr[data-index]");
  byId("before").onclick = () => { state.page--; draw(); };
  byId("after").onclick = () => { state.page++; draw(); byId("examples").scrollIntoView(); };

  const number = (id) => (byId(id).value.trim() === "" || Number.isNaN(Number(byId(id).value)) ? null : Number(byId(id).value));
  function read() {
    Object.assign(state, { query: byId("query").value, system: byId("system").value, dimension: Number(byId("dimension").value || 0),
      from: number("from"), to: number("to"), flagged: byId("flagged").checked, order: byId("order").value || "input" });
    refresh();
  }
  choices();
  byId("filters").addEventListener("input", read);
  byId("filters").addEventListener("change", read);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(read));
  read();
  return () => found;

  function choices() {
    byId("system-label").hidden = !many;
    data.systems.forEach((name, i) => byId("system").append(make("option", { value: i }, name)));
    data.columns.forEach((c, i) => byId("dimension").append(make("option", { value: i, selected: i === (data.first || 0) }, c.label)));
    byId("order").append(make("option", { value: "input" }, "As in the input"), make("option", { value: "id:up" }, "Id"), make("option", { value: "id:down" }, "Id, last first"));
    if (many) byId("order").append(make("option", { value: "system:up" }, "System"), make("option", { value: "system:down" }, "System, last first"));
    data.columns.forEach((c, i) => {
      const [worst, best] = c.better > 0 ? ["up", "down"] : ["down", "up"];
      byId("order").append(make("option", { value: `${i}:${worst}` }, `${c.label}, worst first`), make("option", { value: `${i}:${best}` }, `${c.label}, best first`));
    });
  }
}
