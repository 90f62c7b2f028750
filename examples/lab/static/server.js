// Calls to the page's own server. The session's name is kept here and nowhere else: closing the page ends the session.
let name = "";

async function post(path, body) {
  const response = await fetch("/api/" + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) {
    const err = new Error(answer.error);
    err.status = response.status;
    throw err;
  }
  return answer;
}

export async function session() {
  const answer = await post("session", {});
  name = answer.session;
  return answer;
}

export function call(path, body) {
  return post(path, { session: name, ...body });
}

// end tells the server to forget the key. The page is going, so nobody waits for the answer.
export function end() {
  const body = new Blob([JSON.stringify({ session: name })], { type: "application/json" });
  navigator.sendBeacon("/api/end", body);
}
