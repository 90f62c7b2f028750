// The page asks its server for every result. Nothing here knows which attack works: it shows what came back.
import { call, end, session } from "./server.js";
import * as show from "./show.js";

const $ = (id) => document.getElementById(id);
const controls = $("controls").elements;
const attack = $("attack").elements;
const switches = ["integrity", "principal", "ttl", "request", "single-use"];

let config = null; // as the page shows it
let token = "";
let queue = Promise.resolve(); // one question at a time, so that each is about what the page shows
let waiting = 0; // questions that are queued or asked

function read() {
  return {
    format: controls.format.value,
    without: switches.filter((name) => !controls[name].checked),
    ttl: Number(controls.seconds.value),
    state: controls.state.value,
    principal: controls.who.value,
    method: controls.method.value,
    name: controls.name.value,
    arguments: controls.arguments.value,
  };
}

function write(c) {
  controls.format.value = c.format;
  for (const name of switches) controls[name].checked = !c.without.includes(name);
  controls.seconds.value = c.ttl;
  controls.state.value = c.state;
  controls.who.value = c.principal;
  controls.method.value = c.method;
  controls.name.value = c.name;
  controls.arguments.value = c.arguments;
}

function busy(change) {
  waiting += change;
  if (waiting > 0) document.body.setAttribute("aria-busy", "true");
  else document.body.removeAttribute("aria-busy");
}

// attempt asks the server, when it is this question's turn. A problem is shown, and nothing else changes.
function attempt(what, then) {
  busy(+1);
  queue = queue.then(async () => {
    try {
      const answer = await what();
      show.problem(null);
      then(answer);
    } catch (err) {
      show.problem(err);
    } finally {
      busy(-1);
    }
  });
  return queue;
}

function render(view) {
  token = view.token;
  show.token(view, config);
  show.table(view, config);
  show.forget();
  restore();
}

function restore() {
  attack.token.value = token;
  for (const name of ["principal", "method", "name", "arguments"]) attack[name].value = config[name];
}

function mint() {
  let next = null;
  return attempt(() => call("mint", { config: (next = read()) }), (view) => {
    const before = config;
    config = next;
    show.request(config);
    render(view);
    show.announceTable(before, config);
  });
}

// Typing is one change when it pauses; a switch is one at once.
let typing = 0;
$("controls").addEventListener("input", (event) => {
  const typed = event.target.matches("textarea, input:not([type=checkbox], [type=radio])");
  if (typing) clearTimeout(typing);
  else busy(+1);
  typing = setTimeout(() => {
    typing = 0;
    mint();
    busy(-1);
  }, typed ? 250 : 0);
});
$("controls").addEventListener("submit", (event) => {
  event.preventDefault();
  mint();
});
$("mint").addEventListener("click", mint);
$("replay").addEventListener("click", () => attempt(() => call("replay", { config, token }), show.replays));
$("race").addEventListener("click", () => attempt(() => call("race", { config, token }), show.race));
$("fork").addEventListener("click", () => attempt(() => call("fork", { config }), show.flows));
$("rotate").addEventListener("click", () => attempt(() => call("rotate", { config, token }), (answer) => {
  render(answer.view);
  show.rotated(answer.last);
}));

$("attack").addEventListener("submit", (event) => {
  event.preventDefault();
  const as = {};
  for (const name of ["principal", "method", "name", "arguments"]) as[name] = attack[name].value;
  attempt(() => call("present", { config, token: attack.token.value, as }), show.presented);
});
$("restore").addEventListener("click", restore);
$("flip").addEventListener("click", () => {
  const text = attack.token.value;
  const at = text.indexOf(".") + 1 + Math.floor((text.length - text.indexOf(".") - 1) / 2);
  attack.token.value = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
});
$("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText($("snippet").textContent);
    show.say("Copied.");
    $("copy").textContent = "Copied";
    setTimeout(() => { $("copy").textContent = "Copy"; }, 1500);
  } catch {
    getSelection().selectAllChildren($("snippet"));
    show.say("The program is selected; copy it with the keyboard.");
  }
});
addEventListener("pagehide", end);
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // back from the browser's cache: the session is over
});

await attempt(session, (answer) => {
  config = answer.config;
  write(config);
  $("lease").textContent = answer.lease;
  $("fields").open = matchMedia("(min-width: 60rem)").matches; // on a small screen the table is nearer without
  show.request(config);
  render(answer.view);
});
document.documentElement.dataset.ready = Math.round(performance.now());
