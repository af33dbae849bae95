// Staying signed in: the server makes the token a cookie that no script can read (docs/http.md),
// and the page forgets it.
import { batch } from "@preact/signals";
import { urlOf } from "../prefix";
import { keep, kept } from "../storage";
import { headers, signedIn, signIn } from "./client";

// That there was a cookie when this browser was last here; what holds is what the server says. In a
// browser that keeps nothing the button says "Sign in", and calls are answered all the same.
const THERE = "session";
const remember = (there: boolean) => keep(THERE, there ? "cookie" : undefined);
const remembered = () => kept(THERE) !== undefined;
let tabs: BroadcastChannel; // of this browser
export function startSession() {
  signedIn.value = remembered();
  tabs = new BroadcastChannel(urlOf("/"));
  // Another tab's reader signed in or out: the cookie is this one's too.
  tabs.onmessage = () => !headers().authorization && location.reload();
}

const session = (method: string) =>
  fetch(urlOf("/session"), { method, headers: headers(), cache: "no-store" });
// False: the server would not, or the browser dropped the cookie (the page came in plain text under
// a name). The token stays in memory then.
export async function keepSignedIn(): Promise<boolean> {
  try {
    if ((await session("POST")).status !== 204) return false;
    // By the cookie alone.
    const asked = await fetch(urlOf("/dpledger.v1.LedgerService/ListLedgers"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"parent":"projects/-","pageSize":1}',
      cache: "no-store",
    });
    if (asked.status === 401) return false;
  } catch {
    return false;
  }
  batch(() => {
    signIn("");
    signedIn.value = true;
  });
  remember(true);
  tabs.postMessage("");
  return true;
}
async function forget() {
  remember(false);
  await session("DELETE").catch(() => undefined);
}
// The reader signs out: nothing of the record stays on the screen, and the cookie is gone before
// the page asks anew, for it would still answer.
export async function signOut() {
  if (remembered()) {
    await forget();
    tabs.postMessage("");
  }
  location.reload();
}
// The server no longer takes the token: whoever signs in again does not wait for the cookie to go.
export function dropToken() {
  if (remembered()) void forget();
  signIn("");
}
