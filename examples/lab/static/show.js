// Puts the server's answers on the page, as text: nothing is ever parsed as HTML.
const $ = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const e = document.createElement(tag);
  e.textContent = text;
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

// verdict is a word in a box. The first use of a token is its owner's, and honest; what passes after it is an attack.
function verdict(passed, text, honest = false) {
  return element("span", text, { class: `verdict ${passed ? (honest ? "honest" : "passed") : "refused"}` });
}

// say is for those who hear the page. Everything said is also to be seen.
export function say(text) {
  $("live").textContent = text;
}

export function problem(err) {
  const typed = err !== null && err.status === 400;
  $("invalid").hidden = !typed;
  $("invalid").textContent = typed ? err.message : "";
  $("problem").hidden = err === null || typed;
  $("problem").textContent = err === null || typed ? "" : err.message || "The lab's server does not answer.";
  $("controls").elements.arguments.setAttribute("aria-invalid", String(typed && err.message.includes("arguments")));
}

// request follows the method: what a name is called, and whether there are arguments.
export function request(config) {
  const names = { "tools/call": "Tool", "prompts/get": "Prompt", "resources/read": "URI" };
  $("name-label").textContent = names[config.method];
  $("controls").elements.arguments.disabled = config.method === "resources/read";
  $("worthless").hidden = !config.without.includes("integrity");
}

function claims(list, fields) {
  list.replaceChildren(...fields.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
}

export function token(view, config) {
  $("token").textContent = view.token;
  claims($("inside"), view.inside);
  claims($("readable"), view.readable);
  $("readable-note").textContent = config.without.includes("integrity")
    ? "Nothing protects it. Anybody reads this in it, and can write it anew:"
    : view.readable.length > 0
      ? "A signature hides nothing. Without any key, this is read from it:"
      : "Encrypted: without the key nothing can be read from it.";
  $("snippet").textContent = view.snippet;
}

let flipped = []; // rows whose result the last change has turned

export function table(view, config) {
  const body = $("rows");
  flipped = [];
  for (const row of view.table) {
    let tr = body.querySelector(`[data-id="${row.id}"]`);
    const before = tr && tr.dataset.result;
    if (!tr) {
      tr = element("tr", "", { "data-id": row.id, role: "row" });
      tr.append(element("th", row.attack, { role: "rowheader", scope: "row" }), element("td", "", { role: "cell" }),
        element("td", "", { role: "cell" }));
      body.append(tr);
    }
    tr.dataset.result = row.result;
    tr.children[1].replaceChildren(verdict(row.passed, row.result));
    tr.children[2].textContent = row.stoppedBy;
    tr.classList.remove("flipped");
    if (before && before !== row.result) {
      void tr.offsetWidth; // so that the animation begins again
      tr.classList.add("flipped");
      flipped.push(row);
    }
  }
  const passed = view.table.filter((row) => row.passed).length;
  $("count").textContent = `${passed} of ${view.table.length} attacks work`;
  compared(view, config);
}

function compared(view, config) {
  const others = view.formats.filter((f) => f.id !== config.format);
  const rows = others.reduce((n, f) => n + f.different, 0);
  const names = others.map((f) => f.name).join("; ");
  $("formats-same").textContent = rows === 0
    ? `The format changes not one row. Computed just now for the others, too: ${names}.`
    : `The format changes ${rows} rows: ${others.filter((f) => f.different).map((f) => f.name).join("; ")}.`;
}

export function announceTable(before, after) {
  const turned = ["integrity", "principal", "ttl", "request", "single-use"]
    .filter((name) => before.without.includes(name) !== after.without.includes(name))
    .map((name) => `${name} ${after.without.includes(name) ? "off" : "on"}`);
  if (before.format !== after.format) turned.push(`format ${after.format}`);
  const rows = flipped.map((row) => `${row.attack}: ${row.result}`).join(". ");
  say(`${turned.join(", ") || "New token"}. ${rows || "No row changed"}. ${$("count").textContent}.`);
}

// forget clears what was shown about an earlier token.
export function forget() {
  for (const id of ["replay-summary", "race-summary", "rotated", "flows", "answers"]) $(id).hidden = true;
  document.querySelector(".replays").hidden = true;
}

function summary(id, text) {
  $(id).hidden = false;
  $(id).textContent = text;
  say(text);
}

function left(seconds) {
  const [unit, name] = seconds >= 7200 ? [3600, "h"] : seconds >= 120 ? [60, "min"] : [1, "s"];
  return `${Math.floor(seconds / unit)} ${name} left`;
}

export function replays(verdicts) {
  const names = verdicts[0].checks.map((check) => check.switch);
  $("replay-head").replaceChildren(...["#", "Time", ...names, "Verdict"]
    .map((name) => element("th", name, { scope: "col", role: "columnheader" })));
  $("replays").replaceChildren(...verdicts.map((v, i) => {
    const tr = element("tr", "", { role: "row" });
    tr.append(element("td", String(i + 1), { role: "cell" }), element("td", v.time, { role: "cell" }));
    for (const check of v.checks) {
      tr.append(element("td", check.verdict, {
        role: "cell", "data-label": check.switch, class: { FAIL: "fail", off: "off", "-": "off" }[check.verdict] || "",
      }));
    }
    const last = element("td", "", { role: "cell" });
    last.append(verdict(v.passed, v.passed ? "PASS" : "refused", i === 0), ` ${v.passed ? left(v.left) : v.reason}`);
    tr.append(last);
    return tr;
  }));
  document.querySelector(".replays").hidden = false;
  const passed = verdicts.filter((v) => v.passed).length;
  const reasons = [...new Set(verdicts.filter((v) => !v.passed).map((v) => v.reason))].join(", ");
  const text = `${passed} PASS, ${verdicts.length - passed} refused${reasons && `: ${reasons}`}.`;
  summary("replay-summary", text + spent(passed, reasons));
}

// spent explains why a token has no use left at all.
function spent(passed, reasons) {
  return passed === 0 && reasons === "already used" ? " It was spent before: mint a new token." : "";
}

export function race(answer) {
  const reasons = answer.reasons && `: ${answer.reasons}`;
  const text = `50 at once: ${answer.accepted} accepted, ${answer.refused} refused${reasons}.`;
  summary("race-summary", text + spent(answer.accepted, answer.reasons));
}

export function rotated(v) {
  const verdict = v.passed ? "PASS" : `refused (${v.reason})`;
  summary("rotated", `The session has a new key. The last token, presented again: ${verdict}.`);
}

export function flows(answer) {
  const said = [];
  for (const [name, steps] of Object.entries(answer)) {
    let honest = true;
    $("flow-" + name).replaceChildren(...steps.map((s) => {
      const li = element("li", "");
      const end = element("span", "");
      if (s.effect) {
        end.append(verdict(s.ok, s.ok ? "redeemed" : "refused", honest), element("small", s.reason));
        honest = false;
      } else end.textContent = s.ok ? "ok" : `refused ${s.reason}`;
      li.append(element("span", s.what), end);
      return li;
    }));
    said.push(`${name}: ${steps.filter((s) => s.effect && s.ok).length} redeemed`);
  }
  $("flows").hidden = false;
  say(said.join(". ") + ".");
}

export function presented(answer) {
  const v = answer.verdict;
  $("answers").hidden = false;
  $("log").textContent = answer.log || "Nothing: the token was accepted.";
  $("answer").textContent = JSON.stringify(answer.answer, null, 2);
  say(v.passed ? "PASS: the server accepts it." : `Refused: ${v.reason}. The client is told nothing of the reason.`);
}
