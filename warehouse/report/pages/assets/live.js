"use strict";
/* What only a server can do: controls that ask for another view of the board, and SQL. */
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const element = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  /* ------------------------------------------------------------ the board */
  for (const form of document.querySelectorAll("form[data-live]")) {
    const boxes = [...form.querySelectorAll('input[type="checkbox"][name="metric"]')];
    const initial = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const asked = new URLSearchParams(location.search).has("metric");
    const submit = () => {
      /* The address has only what is chosen, and the metrics only if they are not the usual ones. */
      const words = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      const chosen = words.getAll("metric");
      if (!asked && chosen.length === initial.size && chosen.every((name) => initial.has(name))) words.delete("metric");
      location.assign(words.size ? `${location.pathname}?${words}` : location.pathname);
    };
    form.addEventListener("submit", (event) => { event.preventDefault(); submit(); });
    form.addEventListener("change", (event) => { if (event.target.matches("select, input[type=checkbox]")) submit(); });
    const days = one("select[data-days]", form);
    if (days && days.options.length > 2) {
      /* The slider runs over the days on which something changed, the oldest first. */
      const last = days.options.length - 1, place = (index) => (last - index) % (last + 1);
      const slider = element("input", { type: "range", min: 0, max: last, value: last - days.selectedIndex, step: 1 });
      slider.setAttribute("aria-label", "Day");
      const tell = () => slider.setAttribute("aria-valuetext", days.options[place(Number(slider.value))].text);
      slider.addEventListener("input", () => { days.selectedIndex = place(Number(slider.value)); tell(); });
      slider.addEventListener("change", submit);
      tell();
      days.after(slider);
    }
  }

  /* ------------------------------------------------------------ SQL */
  const form = one('form[data-for="sql"]');
  if (form) {
    const { sql, run, csv, parquet } = form.elements, status = one("#sql-status"), rows = one("#rows"), link = one(".permalink");
    const figure = one('[data-chart="sql"]');
    const permalink = () => { link.href = `sql?${new URLSearchParams({ sql: sql.value })}`; };
    const tell = (text, isWrong = false) => { status.textContent = text; status.classList.toggle("wrong", isWrong); };
    const ask = async (format) => {
      for (const button of [run, csv, parquet]) button.disabled = true;
      tell("Running …");
      try {
        const answer = await fetch("api/sql", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sql: sql.value, format }) });
        if (!answer.ok) { tell((await answer.json()).error, true); return null; }
        return answer;
      } catch {
        tell("The server does not answer.", true);
        return null;
      } finally {
        for (const button of [run, csv, parquet]) button.disabled = false;
      }
    };
    const said = (value) => {
      if (value === null) return "NULL";
      if (typeof value === "object") return value.number;
      return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
    };
    const draw = (found, columns) => {
      /* Names and one number are drawn as bars. */
      const [name, value] = [0, 1];
      const fits = columns.length === 2 && found.length > 1 && found.length <= 300 && found.every((row) => typeof row[value] === "number") && found.some((row) => typeof row[name] === "string");
      figure.hidden = !fits;
      if (!fits) return;
      one("figcaption", figure).textContent = `${columns[value]} by ${columns[name]}, in the order of the rows.`;
      const values = found.map((row) => row[value]);
      charts.bars(figure, found.map((row) => ({ value: row[value], text: `${said(row[name])}\n${said(row[value])}` })), { low: Math.min(0, ...values), high: Math.max(0, ...values), label: `${columns[value]} of ${found.length} rows; the table has the same values` });
    };
    const show = async () => {
      history.replaceState(null, "", `sql?${new URLSearchParams({ sql: sql.value })}`);
      rows.hidden = true;
      figure.hidden = true;
      const answer = await ask("cells");
      if (!answer) return;
      const found = await answer.json(), list = found.rows;
      const told = `${list.length.toLocaleString("en")} ${list.length === 1 ? "row" : "rows"} in ${found.seconds.toFixed(2)} s`;
      tell(found.is_cut_off ? `${told}: the first ones; CSV and Parquet have more` : told);
      const columns = found.columns;
      const isNumber = columns.map((_, n) => list.length > 0 && list.every((row) => row[n] === null || typeof row[n] === "number" || row[n].number));
      rows.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...columns.map((name, n) => element("th", { scope: "col", className: isNumber[n] ? "num" : "", textContent: name })))),
        element("tbody", {}, ...list.map((row) => element("tr", {}, ...columns.map((name, n) => element("td", { className: isNumber[n] ? "num" : "", textContent: said(row[n]), title: row[n] === null ? "no value" : "" })))))));
      rows.hidden = false;
      draw(list, columns);
    };
    const save = async (format) => {
      const answer = await ask(format);
      if (!answer) return;
      const address = URL.createObjectURL(await answer.blob());
      element("a", { href: address, download: `rows.${format}` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      tell(`Saved as rows.${format}.`);
    };
    form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
    csv.addEventListener("click", () => save("csv"));
    parquet.addEventListener("click", () => save("parquet"));
    sql.addEventListener("input", permalink);
    sql.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); show(); } });
    for (const example of document.querySelectorAll(".example")) {
      example.addEventListener("click", (event) => { event.preventDefault(); sql.value = example.dataset.sql; permalink(); show(); });
    }
    for (const button of document.querySelectorAll(".insert")) {
      button.addEventListener("click", () => {
        sql.setRangeText(button.dataset.insert, sql.selectionStart, sql.selectionEnd, "end");
        sql.focus();
        permalink();
      });
    }
    permalink();
  }
})();
