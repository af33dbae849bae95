// What changes on the server reaches the views as one number that grows at most once a second; they
// ask again then, and keep their place. One stream a tab (WatchLedgers).
import { signal } from "@preact/signals";
import { CallError, signedIn, stream } from "./api/client";

export const liveState = signal<"connecting" | "live" | "paused" | "reconnecting" | "old">(
  "connecting",
);
export const lastHeard = signal(0);
export const generation = signal(0);
export const paused = signal(false);
export const clockSkew = signal(0); // server minus this machine, milliseconds
export const changed = new Map<string, number>(); // ledger → generation of its last change

const OLD_MS = 32000; // two heartbeats missed
let held = 0; // a timer
let stop: AbortController | undefined;

function mark(names: string[]) {
  for (const name of names) changed.set(name, generation.peek() + 1);
  if (!names.length || held) return;
  held = window.setTimeout(() => {
    held = 0;
    if (!paused.peek()) generation.value++;
  }, 1000);
}
function heard(serverTime?: string) {
  lastHeard.value = Date.now();
  if (!serverTime) return;
  const skew = Date.parse(serverTime) - Date.now();
  clockSkew.value = Math.abs(skew) > 120000 ? skew : 0;
}
const sleep = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

async function watch(signal: AbortSignal) {
  let resumeToken = "";
  let wait = 1000;
  while (!signal.aborted) {
    try {
      const request = { parent: "projects/-", resumeToken };
      for await (const answer of stream("LedgerService/WatchLedgers", request, signal)) {
        wait = 1000;
        liveState.value = "live";
        heard(answer.serverTime);
        if (answer.resumeToken) resumeToken = answer.resumeToken;
        if (answer.reset) mark(["*"]);
        mark((answer.ledgers ?? []).map((ledger) => ledger.name ?? ""));
      }
    } catch (error) {
      if (signal.aborted) return;
      const { code } = error as CallError;
      if (code === "unauthenticated" || code === "permission_denied") wait = 30000;
    }
    liveState.value = "reconnecting";
    await sleep(wait, signal);
    wait = Math.min(30000, wait * 2);
    if (!signal.aborted) generation.value++;
  }
}

export function startLive() {
  const begin = () => {
    stop?.abort();
    if (paused.peek() || document.hidden) return;
    stop = new AbortController();
    liveState.value = "connecting";
    void watch(stop.signal);
  };
  begin();
  signedIn.subscribe(begin);
  paused.subscribe((is) => {
    if (is) {
      stop?.abort();
      liveState.value = "paused";
    } else if (liveState.peek() === "paused") {
      begin();
      generation.value++;
    }
  });
  let hidden = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = window.setTimeout(() => stop?.abort(), 5 * 60000);
    else if (!stop || stop.signal.aborted) begin();
  });
  setInterval(() => {
    const late = lastHeard.peek() && Date.now() - lastHeard.peek() > OLD_MS;
    if (late && liveState.peek() === "live") liveState.value = "old";
  }, 5000);
}
