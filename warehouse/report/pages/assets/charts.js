"use strict";
/* Charts: bars and points as SVG, and lines as specifications of the program, which Vega draws. Names are set as text,
   never as markup. Each chart draws itself again when its width changes. What a chart shows is also in a table of the
   page. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  let tip = null;
  const tell = (text, place) => {
    if (!text) { if (tip) tip.hidden = true; return; }
    tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
    tip.setAttribute("aria-hidden", "true");
    tip.textContent = text;
    tip.hidden = false;
    const [x, y] = place instanceof Element ? [place.getBoundingClientRect().x + place.getBoundingClientRect().width / 2, place.getBoundingClientRect().y] : [place.clientX, place.clientY - 6];
    tip.style.left = `${Math.min(Math.max(x - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(y - tip.offsetHeight - 6, 4)}px`;
  };
  const point = (element, text, go) => {
    element.addEventListener("pointerenter", () => tell(text, element));
    element.addEventListener("pointerleave", () => tell(""));
    if (go) element.addEventListener("click", () => { location.href = go; });
  };

  const place = (figure, height, label, draw) => {
    figure.querySelector("svg")?.remove();
    const svg = make("svg", { role: "img", "aria-label": label, height }, figure);
    const paint = () => {
      const width = svg.clientWidth || 600;
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      draw(svg, width);
    };
    paint();
    figure.watcher?.disconnect();
    let before = svg.clientWidth;
    figure.watcher = new ResizeObserver(() => {
      if (svg.clientWidth !== before) { before = svg.clientWidth; paint(); }
    });
    figure.watcher.observe(svg);
  };

  const ticks = (low, high, most) => {
    const step = 10 ** Math.floor(Math.log10((high - low) / most));
    const size = [1, 2, 5, 10].map((n) => n * step).find((n) => (high - low) / n <= most);
    const found = [];
    for (let n = Math.ceil(low / size - 1e-9); n * size <= high + size * 1e-9; n++) found.push(n * size);
    return { found, digits: Math.max(0, -Math.floor(Math.log10(size) + 1e-9)) };
  };
  const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  const rows = (svg, width, left, y, low, high) => {
    const { found, digits } = ticks(low, high, 5);
    for (const value of found) {
      make("line", { class: "grid", x1: left, x2: width, y1: y(value), y2: y(value) }, svg);
      make("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, svg, value.toFixed(digits));
    }
  };

  /* Sorted bars; `items` are {label, value, text, go}. With `signed`, colours tell gains from losses. */
  const bars = (figure, items, { low, high, label, signed = false, lowerIsBetter = false }) => place(figure, 230, label, (svg, width) => {
    const left = 46, top = 8, bottom = 222;
    const y = scale(low, high, bottom, top);
    rows(svg, width, left, y, low, high);
    const step = (width - left) / Math.max(items.length, 1);
    items.forEach((item, n) => {
      const x = left + n * step;
      const thick = Math.max(Math.min(step - 1, 24), step * 0.7, 0.5);
      if (item.value !== null) {
        const zero = y(Math.min(Math.max(0, low), high)), there = y(item.value);
        const good = lowerIsBetter ? item.value < 0 : item.value > 0;
        make("rect", {
          class: signed ? (good ? "mark-plus" : "mark-minus") : "mark-value",
          x: x + (step - thick) / 2, width: thick, y: Math.min(zero, there), height: Math.max(Math.abs(zero - there), 0.75),
        }, svg);
      }
      point(make("rect", { class: "hit", x, width: step, y: top, height: bottom - top }, svg), item.text, item.go);
    });
    make("line", { class: "axis", x1: left, x2: width, y1: y(Math.max(0, low)), y2: y(Math.max(0, low)) }, svg);
  });

  /* Points with the diagonal of equal values; `items` are {x, y, text, go}. */
  const scatter = (figure, items, { low, high, label, across, up }) => place(figure, 400, label, (svg, width) => {
    const left = 46, size = Math.min(width - left - 6, 350), top = 8;
    const x = scale(low, high, left, left + size), y = scale(low, high, top + size, top);
    rows(svg, left + size, left, y, low, high);
    for (const value of ticks(low, high, 5).found) {
      make("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: top + size }, svg);
      make("text", { x: x(value), y: top + size + 16, "text-anchor": "middle" }, svg, value.toFixed(ticks(low, high, 5).digits));
    }
    make("line", { class: "diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }, svg);
    make("text", { x: left + size, y: top + size + 34, "text-anchor": "end" }, svg, across);
    make("text", { x: left + 6, y: top + 12 }, svg, up);
    for (const item of items) {
      const side = item.y > item.x ? "mark-plus" : item.y < item.x ? "mark-minus" : "mark-value";
      point(make("circle", { class: `dot ${side}`, cx: x(item.x), cy: y(item.y), r: 4.5 }, svg), item.text, item.go);
    }
  });

  /* The colours of the program's specifications in those of the page, by which they are dark at night. */
  const INKS = {
    "#1A1A1A": "var(--ink)", "#000000": "var(--ink)", "#404040": "var(--ink)", "#595959": "var(--soft)", "#888888": "var(--strong-line)",
    "#8C8C8C": "var(--soft)", "#9A9A9A": "var(--strong-line)", "#BDBDBD": "var(--strong-line)", "#DDDDDD": "var(--line)",
    "#ECECEC": "var(--line)", "white": "var(--paper)",
  };
  const inked = (part) => {
    if (typeof part === "string") return INKS[part] ?? part;
    if (Array.isArray(part)) return part.map(inked);
    return part && typeof part === "object" ? Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inked(value)])) : part;
  };
  /* Names stand beside lines if there is room, else in a legend. */
  const BESIDE = new Set(["leaders", "samples", "markers", "labels"]);

  /* A Vega-Lite specification of the program, as wide as its figure; a datum's `go` is where a click leads. */
  const draw = (figure, spec, label) => {
    figure.querySelector(".vega")?.remove();
    figure.querySelector(".legend")?.remove();
    figure.watcher?.disconnect();
    if (!spec) return;
    const box = figure.insertBefore(Object.assign(document.createElement("div"), { className: "vega" }), figure.querySelector("figcaption"));
    const labels = spec.layer.find((layer) => layer.name === "labels");
    const colours = inked(labels && spec.layer.find((layer) => layer.name === "markers").encoding.color.scale.range);
    const names = labels ? labels.data.values : [];
    const room = 56 + 6.6 * Math.max(0, ...names.map((row) => row.label.length));
    let before = 0, view = null;
    const paint = async () => {
      before = figure.clientWidth;
      const isWide = before - room > 440;
      const width = Math.min(before - 70 - (isWide ? room : 10), 1.9 * spec.width);
      figure.querySelector(".legend")?.remove();
      const layers = spec.layer.filter((layer) => isWide || !(BESIDE.has(layer.name) || layer.name?.startsWith("names-")));
      const { $schema, title, ...rest } = spec;
      const shown = {
        ...rest, width, padding: { left: 2, right: 8, top: 8, bottom: 4 },
        layer: layers.map(({ mark, encoding, ...layer }) => ({ ...layer, mark: inked(mark), encoding: inked(encoding) })),
        config: { ...inked(spec.config), background: "transparent", font: getComputedStyle(document.body).fontFamily, aria: false },
      };
      view?.finalize();
      const made = await vegaEmbed(box, shown, {
        ast: true, actions: false, renderer: "svg", defaultStyle: false, hover: false,
        tooltip: (handler, event, item, value) => tell(value && Object.entries(value).map(([name, text]) => `${name}: ${text}`).join("\n"), event),
      });
      view = made.view;
      view.addEventListener("click", (event, item) => { if (item?.datum?.go) location.href = item.datum.go; });
      const svg = box.querySelector("svg");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", label);
      if (!isWide) legend(figure, names.map((row) => [row.label, colours[row.line]]));
    };
    paint();
    figure.watcher = new ResizeObserver(() => { if (figure.clientWidth && figure.clientWidth !== before) paint(); });
    figure.watcher.observe(figure);
  };

  const legend = (figure, names) => {
    const made = figure.appendChild(Object.assign(document.createElement("p"), { className: "legend" }));
    for (const [text, colour] of names) {
      const name = made.appendChild(Object.assign(document.createElement("span"), { className: "named" }));
      const key = name.appendChild(Object.assign(document.createElement("span"), { className: "key" }));
      key.style.background = colour;
      name.append(text);
      made.append(" ");
    }
  };

  window.charts = { bars, scatter, draw };
})();
