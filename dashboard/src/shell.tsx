// What stands around every view: navigation, whether it is live, who asks, keys.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, refusals, signedIn, signIn } from "./api/client";
import { dropToken, keepSignedIn, signOut } from "./api/session";
import { clockSkew, lastHeard, liveState, paused } from "./live";
import { Dialog } from "./parts/dialog";
import { A } from "./parts/parts";
import { go, place, thingOf } from "./router";
import { nextTheme, theme } from "./theme";
import { now, zone } from "./text/time";

const VIEWS: [key: string, href: string, label: string, views: string[]][] = [
  ["d", "/", "Data sets", ["datasets", "dataset"]],
  ["l", "/ledgers", "Ledgers", ["ledgers", "ledger"]],
  ["v", "/verify", "Verify", ["verify"]],
  ["r", "/recompute", "Recompute", ["recompute"]],
  ["a", "/activity", "Activity", ["activity"]],
];

function Live() {
  const state = liveState.value;
  const minutes = Math.floor((now.value - lastHeard.value) / 60000);
  const words = { connecting: "Connecting", live: "Live", polling: "Asks every 5 s", paused: "Paused", reconnecting: "Reconnecting", old: `Old: ${minutes} min` }[state];
  return <div class="live">
    <span class={`live-dot ${state}`} aria-hidden="true" /><span role="status">{words}{clockSkew.value ? <span class="warn-text"> · the server’s clock is {Math.round(Math.abs(clockSkew.value) / 60000)} min {clockSkew.value > 0 ? "ahead" : "behind"}</span> : null}</span>
    <button type="button" class="icon-button" aria-label={paused.value ? "Follow changes" : "Pause changes"} title={`${paused.value ? "Follow" : "Pause"} (p)`} onClick={() => (paused.value = !paused.value)}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">{paused.value ? <path d="M4 2.5 11 7l-7 4.5z" class="solid" /> : <path d="M4.5 2.5v9M9.5 2.5v9" />}</svg></button>
  </div>;
}

export function SignIn({ close, why }: { close: () => void; why?: string }) {
  const [wrong, setWrong] = useState(why ?? "");
  const input = useRef<HTMLInputElement>(null);
  const keep = useRef<HTMLInputElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const seen = refusals.peek();
    signIn(input.current!.value);
    try {
      await call("LedgerService/ListLedgers", { parent: "projects/-", pageSize: 1 });
    } catch (error) {
      if (refusals.peek() !== seen) {
        signIn("");
        setWrong(`The server does not know this token: ${(error as Error).message}`);
        return;
      }
    }
    if (keep.current!.checked && !(await keepSignedIn())) return setWrong("This browser keeps no cookie of this server, which it does over HTTPS and on this machine alone. You are signed in until you reload.");
    close();
  };
  return <Dialog title="Sign in" close={close}><form onSubmit={submit}>
    <p>This server answers only callers that it knows. The token stays in this tab’s memory and is gone when you reload, unless you stay signed in.</p>
    <label class="field">Token<input ref={input} type="password" autocomplete="off" spellcheck={false} placeholder="dpl_…" required autofocus /></label>
    <label class="tick"><input ref={keep} type="checkbox" />Stay signed in, by a cookie that no script can read, until you sign out or close the browser</label>
    {wrong && <p class="bad-text" role="alert">{wrong}</p>}
    {!isSecureContext && <p class="warn-text">This page came over plain HTTP: anybody in between can read the token.</p>}
    <div class="actions"><button class="button primary" type="submit">Sign in</button><button class="button" type="button" onClick={close}>Not now</button></div>
  </form></Dialog>;
}

function Keys({ close }: { close: () => void }) {
  const rows = [["/", "filter"], ["g then d l v r a", "data sets, ledgers, verify, recompute, activity"], ["j k", "next and previous row"], ["Enter", "open the row"], ["x", "select the row to compare"], ["c", "compare what is selected"], ["p", "pause and follow"], ["t", "light, dark, as the system"], ["?", "this sheet"], ["Esc", "close what is innermost"]];
  return <Dialog title="Keyboard" close={close}><table class="plain"><thead class="hidden"><tr><th scope="col">Key</th><th scope="col">What it does</th></tr></thead><tbody>{rows.map(([key, what]) => <tr key={key}><td><kbd>{key}</kbd></td><td>{what}</td></tr>)}</tbody></table>
    <p><button type="button" class="button" onClick={() => { keysOff.on = !keysOff.on; close(); }}>{keysOff.on ? "Turn single keys on" : "Turn single keys off"}</button></p></Dialog>;
}
const keysOff = { on: false };

function moveRow(by: number) {
  const rows = [...document.querySelectorAll<HTMLElement>("table.rows tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  rows[Math.max(0, Math.min(rows.length - 1, at + by))].querySelector<HTMLElement>(".main a, a")?.focus();
}

export function Shell({ children, json }: { children: preact.ComponentChildren; json?: string }) {
  const [sheet, setSheet] = useState(false);
  const [asking, setAsking] = useState("");
  const seen = useRef(refusals.value);
  const view = thingOf(place.value).view;
  useEffect(() => {
    if (refusals.value === seen.current) return;
    seen.current = refusals.value;
    if (!asking) setAsking(signedIn.value ? "The server no longer takes this token." : " ");
    if (signedIn.value) dropToken();
  }, [refusals.value]);
  useEffect(() => {
    let before = "";
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (keysOff.on && event.key !== "?") return;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || document.querySelector("dialog[open]")) return;
      const from = before;
      before = event.key;
      if (from === "g") {
        const found = VIEWS.find(([key]) => key === event.key);
        if (found) go(found[1]);
      } else if (event.key === "/") {
        const filter = document.getElementById("filter");
        if (!filter) return;
        event.preventDefault();
        filter.focus();
      } else if (event.key === "?") setSheet(true);
      else if (event.key === "p") paused.value = !paused.value;
      else if (event.key === "t") theme.value = nextTheme(theme.value);
      else if (event.key === "j") moveRow(1);
      else if (event.key === "k") moveRow(-1);
      else if (event.key === "x") target.closest("tr")?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click();
      else if (event.key === "c") [...document.querySelectorAll<HTMLButtonElement>(".title .actions button")].find((one) => one.textContent?.startsWith("Compare") && !one.disabled)?.click();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return <>
    <a class="skip" href="#content">Skip to the content</a>
    <header class="top"><div class="top-inner">
      <A class="brand" href="/"><svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M3 4h12M3 9h12M3 14h7" /><circle cx="14.4" cy="14" r="1.2" /></svg>dpledger</A>
      <nav class="views" aria-label="Views">{VIEWS.map(([, href, label, views]) => <A key={href} href={href} aria-current={views.includes(view) ? "page" : undefined}>{label}</A>)}</nav>
      <div class="top-side"><Live />
        <button type="button" class="quiet-button" onClick={() => (signedIn.value ? void signOut() : setAsking(" "))}>{signedIn.value ? "Sign out" : "Sign in"}</button></div>
    </div></header>
    <main id="content">{children}</main>
    <footer class="foot"><span>times in {zone()}</span>
      {json && <a href={json}>This page as JSON</a>}
      <button type="button" class="link" onClick={() => (theme.value = nextTheme(theme.value))}>Colours: {theme.value === "system" ? "as the system" : theme.value}</button>
      <button type="button" class="link" onClick={() => setSheet(true)}>Keyboard ?</button>
      <a href="/verifier/dpledger-verifier.html" download>Verifier for your own disk</a></footer>
    {sheet && <Keys close={() => setSheet(false)} />}
    {asking && <SignIn why={asking.trim()} close={() => setAsking("")} />}
  </>;
}
