// What stands around every view: navigation, whether it is live, who asks, keys.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { refusals, signedIn } from "./api/client";
import { dropToken, signOut } from "./api/session";
import { clockSkew, lastHeard, liveState, paused } from "./live";
import { Dialog } from "./parts/dialog";
import { A, Button } from "./parts/parts";
import { urlOf } from "./prefix";
import { go, keeping, place, setQuery, thingOf } from "./router";
import { SignIn } from "./sign_in";
import { theme, turnTheme } from "./theme";
import { momentWords, zone } from "./text/dates";
import { now } from "./text/time";

const VIEWS: [key: string, href: string, label: string, views: string[]][] = [
  ["d", "/", "Data sets", ["datasets", "dataset"]],
  ["l", "/ledgers", "Ledgers", ["ledgers", "ledger"]],
  ["v", "/verify", "Verify", ["verify"]],
  ["r", "/recompute", "Recompute", ["recompute"]],
  ["a", "/activity", "Activity", ["activity"]],
];
const minutesOf = (ms: number) => Math.round(Math.abs(ms) / 60000);

function Live() {
  const words = {
    connecting: "Connecting",
    live: "Live",
    paused: "Paused",
    reconnecting: (
      <>
        Reconnecting
        {lastHeard.value > 0 && (
          <span class="since">, shown is the state of {momentWords(lastHeard.value)}</span>
        )}
      </>
    ),
    old: `Old: ${Math.floor((now.value - lastHeard.value) / 60000)} min`,
  }[liveState.value];
  const skew = clockSkew.value;
  const action = paused.value ? "Follow" : "Pause";
  return (
    <div class="live">
      <span class={`live-dot ${liveState.value}`} aria-hidden="true" />
      <span role="status">
        {words}
        {skew !== 0 && (
          <span class="warn-text">
            {` · the server’s clock is ${minutesOf(skew)} min ${skew > 0 ? "ahead" : "behind"}`}
          </span>
        )}
      </span>
      <Button
        class="icon-button"
        aria-label={`${action} changes`}
        title={`${action} (p)`}
        onClick={() => (paused.value = !paused.value)}
      >
        <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
          {paused.value ? (
            <path d="M4 2.5 11 7l-7 4.5z" class="solid" />
          ) : (
            <path d="M4.5 2.5v9M9.5 2.5v9" />
          )}
        </svg>
      </Button>
    </div>
  );
}

const KEYS = {
  s: "search",
  "/": "filter",
  "g then d l v r a": "data sets, ledgers, verify, recompute, activity",
  "j k": "next and previous row",
  Enter: "open the row",
  x: "select the row to compare",
  c: "compare what is selected",
  p: "pause and follow",
  t: "light, dark, as the system",
  "?": "this sheet",
  Esc: "close what is innermost",
};
let keysOff = false;

function Keys({ close }: { close: () => void }) {
  const turn = () => {
    keysOff = !keysOff;
    close();
  };
  return (
    <Dialog title="Keyboard" close={close}>
      <table class="plain">
        <thead class="hidden">
          <tr>
            <th scope="col">Key</th>
            <th scope="col">What it does</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(KEYS).map(([key, what]) => (
            <tr key={key}>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <Button onClick={turn}>{keysOff ? "Turn single keys on" : "Turn single keys off"}</Button>
      </p>
    </Dialog>
  );
}

function moveRow(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>("table.rows tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  row.querySelector<HTMLElement>(".main a, a")?.focus();
}
function compareSelected() {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>(".title .actions button")];
  buttons.find((one) => one.textContent?.startsWith("Compare") && !one.disabled)?.click();
}

const typing = (target: HTMLElement) => /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
let before = ""; // the last key
function press(event: KeyboardEvent, showKeys: () => void) {
  const target = event.target as HTMLElement;
  if (keysOff && event.key !== "?") return;
  if (event.ctrlKey || event.metaKey || event.altKey || typing(target)) return;
  if (document.querySelector("dialog[open]")) return;
  const from = before;
  before = event.key;
  if (from === "g") {
    const found = VIEWS.find(([key]) => key === event.key);
    if (found) go(keeping(found[1]));
    return;
  }
  switch (event.key) {
    case "/": {
      const filter = document.getElementById("filter");
      if (filter) event.preventDefault();
      return filter?.focus();
    }
    case "s":
      event.preventDefault();
      return setQuery({ open: "search" }, "push");
    case "?":
      return showKeys();
    case "p":
      paused.value = !paused.value;
      return;
    case "t":
      return turnTheme();
    case "j":
      return moveRow(1);
    case "k":
      return moveRow(-1);
    case "x":
      return target.closest("tr")?.querySelector<HTMLElement>("input[type=checkbox]")?.click();
    case "c":
      return compareSelected();
  }
}

export function Shell({ children, json }: { children: ComponentChildren; json?: string }) {
  const [sheet, setSheet] = useState(false);
  const [asking, setAsking] = useState(""); // why the reader is asked for a token; " ": no reason
  const { view } = thingOf(place.value);
  useEffect(
    // At once: after the next frame the refused caller may be another.
    () =>
      refusals.subscribe((count) => {
        if (!count) return;
        const known = signedIn.peek();
        setAsking((why) => why || (known ? "The server no longer takes this token." : " "));
        if (known) dropToken();
      }),
    [],
  );
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => press(event, () => setSheet(true));
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return (
    <>
      {/* In full: "#content" alone would be of <base>. */}
      <a class="skip" href={`${location.pathname}${location.search}#content`}>
        Skip to the content
      </a>
      <header class="top">
        <div class="top-inner">
          <A class="brand" href="/">
            <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
              <path d="M3 4h12M3 9h12M3 14h7" />
              <circle cx="14.4" cy="14" r="1.2" />
            </svg>
            dpledger
          </A>
          <nav class="views" aria-label="Views">
            {VIEWS.map(([, href, label, views]) => (
              <A key={href} href={href} aria-current={views.includes(view) ? "page" : undefined}>
                {label}
              </A>
            ))}
          </nav>
          <div class="top-side">
            <Button
              class="quiet-button search-button"
              title="Search (s)"
              onClick={() => setQuery({ open: "search" }, "push")}
            >
              <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
                <circle cx="6" cy="6" r="4" />
                <path d="m9.2 9.2 3.3 3.3" />
              </svg>
              <span>Search</span>
            </Button>
            <Live />
            <Button
              class="quiet-button"
              onClick={() => (signedIn.value ? void signOut() : setAsking(" "))}
            >
              {signedIn.value ? "Sign out" : "Sign in"}
            </Button>
          </div>
        </div>
      </header>
      <main id="content">{children}</main>
      <footer class="foot">
        <span>times in {zone()}</span>
        {json && <a href={json}>This page as JSON</a>}
        <Button class="link" onClick={turnTheme}>
          Colours: {theme.value === "system" ? "as the system" : theme.value}
        </Button>
        <Button class="link" onClick={() => setSheet(true)}>
          Keyboard ?
        </Button>
        <a href={urlOf("/verifier/dpledger-verifier.html")} download>
          Verifier for your own disk
        </a>
      </footer>
      {sheet && <Keys close={() => setSheet(false)} />}
      {asking && <SignIn why={asking.trim()} close={() => setAsking("")} />}
    </>
  );
}
