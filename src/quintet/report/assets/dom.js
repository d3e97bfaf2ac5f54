/* Building blocks. Texts only ever enter as text nodes or attributes, never as markup. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const byId = (id) => document.getElementById(id);

function figure(value, digits = 3) {
  if (value === null || Number.isNaN(value)) return "–";
  return value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
}

function shorten(text, length) {
  const line = text.slice(0, length * 3).replace(/\s+/g, " ").trim();
  return line.length <= length ? line : line.slice(0, length - 1) + "…";
}

/* Where a value stands between the worst (0) and the best (1) of its column. */
function standing(column, value) {
  if (value === null || !column.range) return null;
  let [low, high] = column.range;
  if (column.low !== null && column.high !== null) [low, high] = [Math.min(low, column.low), Math.max(high, column.high)];
  if (high - low < 1e-12) return column.better > 0 ? 1 : 0;
  return (value - low) / (high - low);
}

/* The same with 1 always best; null where there is no value. */
function goodness(column, value) {
  const place = standing(column, value);
  return place === null ? null : column.better > 0 ? place : 1 - place;
}

/* The column in which a row stands worst: what one opens it for. */
function worstColumn(data, row) {
  const places = row.values.map((value, i) => goodness(data.columns[i], value));
  let worst = data.first || 0;
  places.forEach((place, i) => { if (place !== null && (places[worst] === null || place < places[worst])) worst = i; });
  return worst;
}

function meter(column, value) {
  const place = standing(column, value);
  const bar = make("span", { class: "meter", "aria-hidden": "true" }, make("i"));
  if (place !== null) bar.firstChild.style.width = `${Math.round(100 * Math.max(0, Math.min(1, place)))}%`;
  return bar;
}

/* One tab stop for a whole group; arrow keys move inside it. */
function roving(container, selector, onMove = () => {}) {
  const all = () => [...container.querySelectorAll(selector)];
  container.addEventListener("keydown", (event) => {
    const items = all();
    const here = items.indexOf(event.target.closest(selector));
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const end = { Home: 0, End: items.length - 1 }[event.key];
    if (here < 0 || (step === undefined && end === undefined)) return;
    const next = items[end !== undefined ? end : Math.max(0, Math.min(items.length - 1, here + step))];
    event.preventDefault();
    event.stopPropagation();
    focusOne(items, next);
    onMove(next);
  });
  container.addEventListener("focusin", (event) => {
    const item = event.target.closest(selector);
    if (item) setStop(all(), item);
  });
}

function setStop(items, chosen) {
  for (const item of items) item.tabIndex = item === chosen ? 0 : -1;
}

function focusOne(items, chosen) {
  setStop(items, chosen);
  chosen.focus();
}

function tabs(container, names, onChoose) {
  const buttons = names.map((name, place) => make("button", {
    type: "button", role: "tab", "aria-selected": place === 0 ? "true" : "false", tabindex: place === 0 ? 0 : -1,
    onclick: () => choose(place),
  }, ...(Array.isArray(name) ? name : [name])));
  const choose = (place) => {
    buttons.forEach((b, i) => b.setAttribute("aria-selected", String(i === place)));
    setStop(buttons, buttons[place]);
    onChoose(place);
  };
  container.replaceChildren(...buttons);
  if (!container.dataset.roving) {
    container.dataset.roving = "yes";
    roving(container, "[role=tab]", (button) => button.click());
  }
  return choose;
}
