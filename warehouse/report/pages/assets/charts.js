"use strict";
/* Charts as SVG: bars, points and lines. Names are set as text, never as markup. Each chart draws itself again when
   its width changes. What a chart shows is also in a table of the page. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  /* Okabe and Ito's colours for the colour-blind, with dashes, so that lines differ in print too. */
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#aa4499", "#999933"];
  const DASHES = ["", "7 3", "2 3", "10 3 2 3"];

  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  };

  let tip = null;
  const point = (element, text, go) => {
    element.addEventListener("pointerenter", () => {
      tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
      tip.setAttribute("aria-hidden", "true");
      tip.textContent = text;
      tip.hidden = false;
      const box = element.getBoundingClientRect();
      const left = Math.min(Math.max(box.x + box.width / 2 - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4);
      tip.style.left = `${left}px`;
      tip.style.top = `${Math.max(box.y - tip.offsetHeight - 6, 4)}px`;
    });
    element.addEventListener("pointerleave", () => { tip.hidden = true; });
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

  const clock = (seconds, span) => {
    const text = new Date(seconds * 1000).toISOString();
    return span > 3 * 86400 ? text.slice(0, 10) : span > 600 ? text.slice(5, 16).replace("T", " ") : text.slice(11, 19);
  };

  /* Lines over time, one a system; `items` are {time, run, system, value, best, record, go}. */
  const lines = (figure, items, { label }) => place(figure, 300, label, (svg, width) => {
    const known = items.filter((item) => item.value !== null);
    if (!known.length) return;
    const systems = [...new Set(known.map((item) => item.system))];
    const named = systems.length <= 14 && width > 560;
    const left = 46, top = 12, bottom = 268, right = named ? 150 : 10;
    let low = Math.min(...known.map((item) => item.value)), high = Math.max(...known.map((item) => item.value));
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    low -= room; high += room;
    const times = known.map((item) => item.time);
    const first = Math.min(...times), last = Math.max(...times);
    const x = scale(first, last > first ? last : first + 1, left + 8, width - right), y = scale(low, high, bottom, top);
    rows(svg, width - right + 8, left, y, low, high);
    const marks = Math.max(2, Math.min(6, Math.floor((width - right - left) / 110)));
    let said = "";
    for (let n = 0; n < (last > first ? marks : 1); n++) {
      const time = first + ((last - first) * n) / (marks - 1);
      if (said === (said = clock(time, last - first))) continue;
      make("text", { x: x(time), y: bottom + 20, "text-anchor": n === 0 ? "start" : n === marks - 1 ? "end" : "middle" }, svg, said);
    }
    let path = "";
    for (const item of items) if (item.best !== null) path += path ? `H${x(item.time)}V${y(item.best)}` : `M${x(item.time)} ${y(item.best)}`;
    if (path) make("path", { class: "best-line", d: path }, svg);
    const ends = [];
    systems.forEach((system, n) => {
      const colour = COLOURS[n % COLOURS.length];
      const mine = known.filter((item) => item.system === system);
      if (mine.length > 1) {
        make("path", {
          class: "line", stroke: colour, "stroke-dasharray": DASHES[Math.floor(n / COLOURS.length) % DASHES.length],
          d: `M${mine.map((item) => `${x(item.time)} ${y(item.value)}`).join("L")}`,
        }, svg);
      }
      for (const item of mine) {
        const dot = make("circle", { class: "dot", cx: x(item.time), cy: y(item.value), r: 5, fill: item.record ? colour : "var(--paper)" }, svg);
        dot.setAttribute("stroke", colour);
        dot.style.stroke = colour;
        dot.style.strokeWidth = "2px";
        point(dot, item.text, item.go);
      }
      ends.push({ system, colour, y: y(mine[mine.length - 1].value), x: x(mine[mine.length - 1].time) });
    });
    figure.querySelector(".legend")?.remove();
    if (!named) {
      const legend = figure.appendChild(Object.assign(document.createElement("p"), { className: "legend" }));
      for (const end of ends) {
        const name = legend.appendChild(Object.assign(document.createElement("span"), { className: "named" }));
        const key = name.appendChild(Object.assign(document.createElement("span"), { className: "key" }));
        key.style.background = end.colour;
        name.append(end.system);
        legend.append(" ");
      }
      return;
    }
    ends.sort((one, other) => one.y - other.y);
    ends.forEach((end, n) => { end.at = Math.max(end.y, n ? ends[n - 1].at + 15 : top); });
    for (let n = ends.length - 1, limit = bottom; n >= 0; n--) { ends[n].at = Math.min(ends[n].at, limit); limit = ends[n].at - 15; }
    for (const end of ends) {
      make("path", { fill: "none", stroke: end.colour, "stroke-opacity": 0.35, d: `M${end.x + 7} ${end.y}L${width - right + 14} ${end.at}` }, svg);
      const text = end.system.length > 18 ? `${end.system.slice(0, 17)}…` : end.system;
      make("rect", { x: width - right + 17, y: end.at - 4, width: 8, height: 8, fill: end.colour }, svg);
      make("text", { x: width - right + 30, y: end.at + 4 }, svg, text);
    }
  });

  /* One line a run; `items` are {run, points: [[x, y]], go}. */
  const curves = (figure, items, { x: across, y: up, label }) => {
    figure.querySelector(".legend")?.remove();
    place(figure, 340, label, (svg, width) => {
      const points = items.flatMap((item) => item.points);
      if (!points.length) return;
      const ends = (n) => [Math.min(...points.map((p) => p[n])), Math.max(...points.map((p) => p[n]))];
      const [[left, right], [, top]] = [ends(0), ends(1)];
      const x = scale(Math.min(left, right > 1 ? left : 0), right, 46, width - 12), y = scale(0, top || 1, 292, 22);
      rows(svg, width - 12, 46, y, 0, top || 1);
      const marks = ticks(Math.min(left, right > 1 ? left : 0), right, 8);
      for (const value of marks.found) make("text", { x: x(value), y: 310, "text-anchor": "middle" }, svg, value.toFixed(marks.digits));
      make("text", { x: width - 12, y: 330, "text-anchor": "end" }, svg, `${across} →`);
      make("text", { x: 46, y: 12 }, svg, `↑ ${up}`);
      items.forEach((item, n) => {
        const path = `M${item.points.map((p) => `${x(p[0])} ${y(p[1])}`).join("L")}`;
        make("path", { class: "line", d: path, stroke: COLOURS[n % COLOURS.length], "stroke-dasharray": DASHES[Math.floor(n / COLOURS.length) % DASHES.length] }, svg);
        point(make("path", { class: "near", d: path }, svg), item.run, item.go);
      });
    });
    const legend = figure.appendChild(Object.assign(document.createElement("p"), { className: "legend" }));
    items.forEach((item, n) => {
      const name = legend.appendChild(Object.assign(document.createElement("span"), { className: "named" }));
      const key = name.appendChild(Object.assign(document.createElement("span"), { className: "key" }));
      key.style.background = COLOURS[n % COLOURS.length];
      name.append(item.run);
      legend.append(" ");
    });
  };

  window.charts = { bars, scatter, lines, curves };
})();
