"use strict";
/* A long board: the page has its first rows. An index of the names and values of all is a script of its own, which is
   loaded when other rows are asked for; from it they are filtered, sorted and cut to pages. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const shape = (name, attributes, ...children) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  const bar = (metric, value) => {
    const share = Math.min(Math.max((value - metric.low) / (metric.high - metric.low), 0), 1);
    return shape("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
      shape("rect", { class: "track", width: 100, height: 8 }), shape("rect", { class: "fill", width: (100 * share).toFixed(2), height: 8 }));
  };
  const cell = (found, metric, n, page, hidden) => {
    const value = metric.values[n], isBest = metric.bests.has(n);
    const td = element("td", { className: `num value${isBest ? " best" : ""}`, hidden });
    Object.assign(td.dataset, { key: metric.key, value: value ?? "", place: metric.places[n] ?? "–", places: metric.places[n] ?? "–" });
    if (value === null) td.append(element("span", { className: "none", title: "undefined", textContent: "–" }));
    else {
      const link = element("a", { href: `${page}#why-${metric.key}`, textContent: metric.count && Number.isInteger(value) ? value : value.toFixed(4) });
      if (isBest) link.append(element("span", { className: "sr", textContent: " (best)" }));
      td.append(link, bar(metric, value));
    }
    return td;
  };
  const row = (found, n, ranked, hidden) => {
    const page = `runs/${found.keys[n] ?? found.runs[n]}.html`;
    const system = found.systems[found.system[n]], tags = (found.tag[n] ?? []).map((tag) => found.tags[tag]);
    const under = element("span", { className: "under" });
    if (system !== undefined) under.append(element("small", { textContent: system }));
    if (tags.length) under.append(element("small", { className: "tags", textContent: tags.join(" · ") }));
    const name = element("th", { scope: "row", className: "pin2" }, element("a", { href: page, textContent: found.runs[n] }), ...(under.childNodes.length ? [under] : []));
    const answered = element("td", { className: "num" });
    if (found.answered[n] !== null) answered.append(found.answered[n], element("small", { textContent: `of ${found.judged[n]}` }));
    return element("tr", {}, element("td", { className: "rank pin", textContent: ranked.places[n] ?? "–" }), name,
      ...found.metrics.map((metric) => cell(found, metric, n, page, hidden.has(metric.key))), answered);
  };

  /* The numbers of the rows that a state shows, in its order: of the metric's places, of the names, or of the answered. */
  const chosen = (found, { text, system, tag, key, column, down }) => {
    const wanted = text.toLowerCase(), of = found.systems.indexOf(system), tagged = found.tags.indexOf(tag);
    const has = (n) => [found.runs[n], found.systems[found.system[n]] ?? "", ...(found.tag[n] ?? []).map((one) => found.tags[one])].some((word) => word.toLowerCase().includes(wanted));
    const rows = found.runs.map((_, n) => n).filter((n) => (!system || found.system[n] === of) && (!tag || found.tag[n]?.includes(tagged)) && (!wanted || has(n)));
    const metric = found.metrics.find((one) => one.key === key);
    const sign = down ? -1 : 1;
    if (metric) {
      const better = metric.lower === down ? -1 : 1;
      rows.sort((a, b) => (metric.values[a] === null) - (metric.values[b] === null) || better * (metric.places[a] - metric.places[b]) || (found.runs[a] < found.runs[b] ? -1 : 1));
    } else if (column === 1) rows.sort((a, b) => sign * found.runs[a].localeCompare(found.runs[b], undefined, { numeric: true }));
    else rows.sort((a, b) => sign * ((found.answered[a] ?? 0) - (found.answered[b] ?? 0)) || a - b);
    return rows;
  };

  /* `show(state)` fills the table; the first page of the untouched board is what the page has already. */
  window.longBoard = (table, pager, turn, loaded) => {
    const most = Number(pager.dataset.pages), status = pager.querySelector("[role=status]");
    const [previous, next] = pager.querySelectorAll("button");
    let page = 1;
    pager.hidden = false;
    previous.addEventListener("click", () => turn(page - 1));
    next.addEventListener("click", () => turn(page + 1));
    const load = (then) => loaded(table.dataset.rows, "board", (found) => {
      for (const metric of found.metrics) {
        metric.bests ??= new Set(metric.best);
        metric.lower ??= table.querySelector(`thead th[data-key="${metric.key}"]`).dataset.better === "lower";
      }
      then(found);
    });
    const show = (state, tell) => load((found) => {
      const rows = chosen(found, state), pages = Math.max(1, Math.ceil(rows.length / most));
      page = Math.min(Math.max(state.page, 1), pages);
      const ranked = found.metrics.find((metric) => metric.key === state.ranked) ?? found.metrics[0];
      table.tBodies[0].replaceChildren(...rows.slice((page - 1) * most, page * most).map((n) => row(found, n, ranked, state.hidden)));
      status.textContent = `Page ${page} of ${pages.toLocaleString("en")}`;
      previous.disabled = page === 1;
      next.disabled = page === pages;
      tell(rows.length, found.runs.length);
    });
    return { show };
  };
})();
