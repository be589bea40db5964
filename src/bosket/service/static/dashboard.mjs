// The dashboard of a task: asks the collector for its results now and then, and draws them.  The token stays in memory.

const task = location.pathname.split("/")[2] ?? "";
const EVERY = 3000; // milliseconds
const WIDTH = 1000; // units of a picture
const FEW = 8; // findings of one kind that are told in words
const at = (id) => document.getElementById(id);
let token = new URLSearchParams(location.hash.slice(1)).get("token");
let shown = "";
let timer = 0;
if (token !== null) history.replaceState(null, "", location.pathname); // not into the history, nor into a bookmark

const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}%`);
const clipped = (value) => Math.min(1, Math.max(0, value ?? 0));

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind !== undefined) made.className = kind;
  return made;
}

function rectangle(kind, from, to) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  made.setAttribute("class", kind);
  made.setAttribute("x", String(WIDTH * from));
  made.setAttribute("width", String(Math.max(0, WIDTH * (to - from))));
  made.setAttribute("y", kind === "axis" ? "7" : kind === "bar" ? "3" : "1");
  made.setAttribute("height", kind === "axis" ? "2" : kind === "bar" ? "10" : "14");
  return made;
}

function picture(value, low, high) {
  const cell = element("td", undefined, "picture");
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} 16`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(rectangle("axis", 0, 1), rectangle("bar", clipped(low), clipped(high)));
  const middle = clipped(value);
  drawing.append(rectangle("mark", Math.max(0, middle - 0.004), Math.min(1, middle + 0.004)));
  cell.append(drawing);
  return cell;
}

const span = (low, high) => (low === null || low === undefined ? "–" : `${percent(low)} to ${percent(high)}`);

// Then cells of text, such as what dishonest people can do to the value.
function row(name, value, low, high, doubtful, ...more) {
  const made = element("tr");
  const head = element("td", name);
  if (doubtful) head.append(" ", element("strong", "?"));
  made.append(head, element("td", percent(value)), element("td", span(low, high)));
  made.append(picture(value, low, high), ...more.map((text) => element("td", text)));
  return made;
}

// What was flagged, a line each; every one with how often honest people would raise it.
function warnings(flag) {
  const lines = flag.audit.map((finding) => `Audit: ${finding.check} does not hold. ${finding.words}`);
  const { flagged = 0, worst = [] } = flag.contradictions ?? {};
  for (const one of worst.slice(0, FEW)) {
    const have = one.present.length ? `have ${one.present.join(", ")}` : "have none of them";
    const lack = one.absent.length ? ` and lack ${one.absent.join(", ")}` : "";
    lines.push(
      `By these reports ${percent(one.share)} of people ${have}${lack}: less than nobody. Honest people's reports say ` +
        `so with probability ${one.chance.toPrecision(1)} at most.`,
    );
  }
  if (flagged > FEW) lines.push(`And ${flagged - FEW} more like these.`);
  return lines;
}

function show(results) {
  at("title").textContent = results.title;
  document.title = results.title;
  at("n-reports").textContent = results.n_reports.toLocaleString("en");
  const deepest = results.deepest_size;
  at("deepest").textContent = deepest === null ? "not foreseen" : deepest === 0 ? "none yet" : `of ${deepest}`;
  const looked = results.flags.filter((flag) => flag.implausible !== null);
  const marked = looked.reduce((sum, flag) => sum + flag.implausible, 0);
  at("flagged").textContent = looked.length ? String(marked) : "not looked at";
  at("flagged").classList.toggle("flagged", marked > 0);
  const told = results.flags.flatMap(warnings);
  const found = (flag) => flag.audit.length + (flag.contradictions?.flagged ?? 0);
  at("warned").textContent = String(results.flags.reduce((sum, flag) => sum + found(flag), 0));
  at("warned").classList.toggle("flagged", told.length > 0);
  at("warnings").hidden = told.length === 0;
  at("warnings").replaceChildren(...told.map((line) => element("li", line, "flagged")));
  const sure = results.robust;
  at("robust").hidden = sure === undefined;
  if (sure !== undefined) {
    at("dishonest").textContent = percent(sure.dishonest).replace(".0", "");
    at("sure").textContent = percent(sure.level).replace(".0", "");
  }
  at("influence").textContent = results.influence.length ? percent(results.influence[0].shift) : "not foreseen";
  at("level").textContent = percent(results.level).replace(".0", "");
  at("doubt").hidden = ![...results.itemsets, ...results.rules].some((one) => one.caution);
  at("problem").hidden = results.problem === null;
  at("problem").textContent = results.problem ?? "";
  const notes = results.notes ?? [];
  at("notes").hidden = notes.length === 0;
  at("notes").replaceChildren(...notes.map((note) => element("li", note)));
  at("itemsets").replaceChildren(
    ...results.itemsets.map((one) =>
      row(
        one.items.join(", "),
        one.support,
        one.low,
        one.high,
        one.caution,
        percent(one.robust),
        span(one.robust_low, one.robust_high),
        percent(one.shift),
      ),
    ),
  );
  at("rules").replaceChildren(
    ...results.rules.map((one) =>
      row(
        `${one.antecedents.join(", ")} → ${one.consequents.join(", ")}`,
        one.confidence,
        one.confidence_low,
        one.confidence_high,
        one.caution,
        percent(one.confidence_shift),
      ),
    ),
  );
  at("about").textContent =
    `${results.mechanism}, plan ${results.plans.map((plan) => plan.slice(0, 12)).join(" and ")}; chance: ` +
    `${results.randomness}. If all people are honest, any report at all is marked with probability at most ` +
    `${results.flags[0]?.level ?? 0}. bosket ${results.version}.`;
  at("shown").hidden = false;
  at("status").textContent = results.is_final ? "The task is closed: these are its results." : "Results so far.";
}

function ask(sentence) {
  at("status").textContent = sentence;
  at("ask").hidden = false;
  at("shown").hidden = true;
}

async function look() {
  clearTimeout(timer);
  if (token === null || token === "") {
    ask("Results are for those who have a token.");
    return;
  }
  try {
    const answer = await fetch(`/v1/tasks/${encodeURIComponent(task)}/results`, {
      headers: { Authorization: `Bearer ${token}` },
      cache: "no-store",
    });
    if (answer.status === 401 || answer.status === 403) {
      token = null;
      ask("This token does not show these results.");
      return;
    }
    const text = await answer.text();
    if (answer.ok) {
      const results = text === shown ? null : JSON.parse(text); // unchanged results are not read out again
      if (results !== null && results.itemsets === undefined) {
        at("status").textContent = results.problem; // none could be made
        at("shown").hidden = true;
      } else if (results !== null) show(results);
      shown = text;
    } else if (shown === "") {
      at("status").textContent = JSON.parse(text).detail;
    }
  } catch {
    at("status").textContent = "The collector does not answer; trying again.";
  }
  timer = setTimeout(look, EVERY);
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  at("token").value = "";
  at("ask").hidden = true;
  at("status").textContent = "Loading…";
  look();
});
look();
