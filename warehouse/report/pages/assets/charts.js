"use strict";
/* Charts: Vega-Lite specifications of the program, which Vega draws. Each draws itself again when its width changes. What
   a chart shows is also in a table of the page. */
(() => {
  let tip = null;
  const tell = (text, event) => {
    if (!text || !event) { if (tip) tip.hidden = true; return; }
    tip ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "tip" }));
    tip.setAttribute("aria-hidden", "true");
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = `${Math.min(Math.max(event.clientX - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(event.clientY - tip.offsetHeight - 12, 4)}px`;
  };
  const words = (value) => (value && typeof value === "object" ? Object.entries(value).map(([name, text]) => `${name}: ${text}`).join("\n") : value);

  /* The colours of the program's specifications in those of the page, by which they are dark at night. */
  const INKS = {
    "#1A1A1A": "var(--ink)", "#000000": "var(--ink)", "#404040": "var(--ink)", "#595959": "var(--soft)", "#888888": "var(--strong-line)",
    "#8C8C8C": "var(--soft)", "#9A9A9A": "var(--strong-line)", "#BDBDBD": "var(--strong-line)", "#DDDDDD": "var(--line)",
    "#ECECEC": "var(--line)", "white": "var(--paper)", "#1B6B93": "var(--plus)", "#B4530F": "var(--minus)", "#5B7FA6": "var(--fill)", "#882255": "var(--wine)", "#D00000": "var(--gate)",
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
    figure.view?.finalize();
    figure.view = null;
    if (!spec) return;
    const box = figure.insertBefore(Object.assign(document.createElement("div"), { className: "vega" }), figure.querySelector("figcaption"));
    const labels = spec.layer.find((layer) => layer.name === "labels");
    const colours = inked(labels && spec.layer.find((layer) => layer.name === "markers").encoding.color.scale.range);
    const names = labels ? labels.data.values : [];
    const room = 56 + 6.6 * Math.max(0, ...names.map((row) => row.label.length));
    let before = 0;
    const paint = async () => {
      before = figure.clientWidth;
      if (before < 120) return;
      const isWide = before - room > 440;
      const space = before - 70 - (labels && isWide ? room : 10);
      const most = labels ? 1.9 * spec.width : spec.width === spec.height ? spec.width : 30 * Math.max(spec.data.values.length, 8);
      const width = Math.min(space, most);
      figure.querySelector(".legend")?.remove();
      const layers = spec.layer.filter((layer) => isWide || !(BESIDE.has(layer.name) || layer.name?.startsWith("names-")));
      const { $schema, title, ...rest } = spec;
      const shown = {
        ...rest, width, padding: { left: 2, right: 8, top: 8, bottom: 4 },
        layer: layers.map(({ mark, encoding, ...layer }) => ({ ...layer, mark: { ...inked(mark), ...(encoding.tooltip && { cursor: "pointer" }) }, encoding: inked(encoding) })),
        config: { ...inked(spec.config), background: "transparent", font: getComputedStyle(document.body).fontFamily, aria: false },
      };
      const made = await vegaEmbed(box, shown, {
        ast: true, actions: false, renderer: "svg", defaultStyle: false, hover: false,
        tooltip: (handler, event, item, value) => tell(words(value), event),
      });
      if (!box.isConnected) { made.finalize(); return; }
      figure.view?.finalize();
      figure.view = made.view;
      made.view.addEventListener("click", (event, item) => { if (item?.datum?.go) location.href = item.datum.go; });
      const svg = box.querySelector("svg");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", label);
      for (const part of svg.children) part.setAttribute("aria-hidden", "true");
      if (labels && !isWide) legend(figure, names.map((row) => [row.label, colours[row.line]]));
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

  /* A chart whose values the page chooses: `items` have `text`, `go`, and what its axes show. */
  const chosen = (figure, items, label, params, titles = {}) => {
    const spec = JSON.parse(figure.dataset.spec);
    for (const param of spec.params) param.value = params[param.name] ?? param.value;
    for (const layer of spec.layer) for (const [axis, title] of Object.entries(titles)) if (layer.name === "rows") layer.encoding[axis].title = title;
    draw(figure, { ...spec, data: { values: items } }, label);
  };

  /* Sorted bars; `items` are {value, text, go}. With `signed`, colours tell gains from losses. */
  const bars = (figure, items, { low, high, label, signed = false, lowerIsBetter = false }) =>
    chosen(figure, items.map((item, at) => ({ ...item, at })), label, { low, high, sign: signed ? (lowerIsBetter ? -1 : 1) : 0 });

  /* Points with the diagonal of equal values; `items` are {x, y, text, go}. */
  const scatter = (figure, items, { low, high, label, across, up }) => chosen(figure, items, label, { low, high }, { x: across, y: up });

  window.charts = { bars, scatter, draw };
})();
