// The address bar is the state: the path says which thing, the query says how it is looked at.
//   /                            data sets                     /dataset?name=NAME
//   /ledgers?filter=&order=      /ledger/PROJECT/ID[/entry/N or sha256:HEX]?size=&delta=&method=
//   /verify[/PROJECT/ID]         /statement?ledger= or dataset=
//   /recompute[/OPERATION]       ?open=compare:A,B or plan
//   /activity?ledger=NAME&caller=&permission=&refused=1
import { signal } from "@preact/signals";
import { addressHere, urlOf } from "./prefix";
import { fullName, ledgerName } from "./text/names";

interface Place {
  path: string[]; // decoded, without empty parts
  query: URLSearchParams;
}
const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;

export function parsePlace(pathname: string, search: string): Place {
  const path = pathname
    .split("/")
    .filter(Boolean)
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  return { path, query: new URLSearchParams(search) };
}

export type Thing =
  | { view: "datasets" }
  | { view: "dataset"; name: string }
  | { view: "ledgers" }
  | { view: "ledger"; project: string; id: string; entry?: string }
  | { view: "verify"; project?: string; id?: string }
  | { view: "statement"; ledger?: string; dataset?: string }
  | { view: "recompute"; operation?: string }
  | { view: "activity" }
  | { view: "nothing" };

export function thingOf({ path, query }: Place): Thing {
  const [first, project, id, word, entry] = path;
  const named = project !== undefined && id !== undefined && NAME.test(project) && NAME.test(id);
  const length = path.length;
  if (length === 0) return { view: "datasets" };
  // A data set's name may hold anything, "/" and ".." too: it stands in the query.
  if (first === "dataset" && length === 1 && query.has("name"))
    return { view: "dataset", name: query.get("name")! };
  if (first === "ledgers" && length === 1) return { view: "ledgers" };
  if (first === "ledger" && named && length === 3) return { view: "ledger", project, id };
  if (
    first === "ledger" &&
    named &&
    length === 5 &&
    word === "entry" &&
    /^(\d{1,19}|sha256:[0-9a-f]{64})$/.test(entry)
  ) {
    return { view: "ledger", project, id, entry };
  }
  if (first === "verify" && length === 1) return { view: "verify" };
  if (first === "verify" && named && length === 3) return { view: "verify", project, id };
  if (first === "statement" && length === 1) {
    return {
      view: "statement",
      ledger: query.get("ledger") ?? undefined,
      dataset: query.get("dataset") ?? undefined,
    };
  }
  if (first === "recompute" && length <= 2) return { view: "recompute", operation: project };
  if (first === "activity" && length === 1) return { view: "activity" };
  return { view: "nothing" };
}

const here = () => parsePlace(addressHere(), location.search);
export const place = signal<Place>(
  typeof location === "undefined" ? { path: [], query: new URLSearchParams() } : here(),
);

// Each step of the history remembers how far its view was scrolled. The way back goes there, as
// soon as the view is as long again, unless the reader scrolls first.
let wanted: number | undefined;
let noted = 0; // a timer
function note() {
  clearTimeout(noted);
  noted = 0;
  if (wanted === undefined) history.replaceState({ top: scrollY }, "");
}
const QUIET_MS = 400; // nothing has loaded for so long: the view is whole
const LONGEST_MS = 10_000;
function goBackTo(top: number) {
  if (!top) return scrollTo(0, 0);
  wanted = top;
  const begun = Date.now();
  let since = begun; // the place was reached
  const move = () => {
    if (wanted === undefined) return;
    const now = Date.now();
    if (Math.abs(scrollY - wanted) > 1 || document.querySelector("main .loading")) since = now;
    scrollTo(0, wanted);
    if (now - since > QUIET_MS || now - begun > LONGEST_MS) wanted = undefined;
    else requestAnimationFrame(move);
  };
  move();
}
export function startRouter() {
  history.scrollRestoration = "manual";
  const before = () => (history.state as { top?: number } | null)?.top ?? 0;
  addEventListener("popstate", () => {
    place.value = here();
    goBackTo(before());
  });
  addEventListener("scroll", () => (noted ||= window.setTimeout(note, 100)));
  addEventListener("pagehide", note);
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"])
    addEventListener(kind, () => (wanted = undefined), { passive: true });
  goBackTo(before());
}
export function go(address: string, how: "push" | "replace" = "push") {
  if (how === "push") {
    note();
    history.pushState(null, "", urlOf(address));
  } else history.replaceState(history.state, "", urlOf(address));
  const before = place.value.path.join("/");
  place.value = here();
  if (before !== place.value.path.join("/")) scrollTo(0, 0);
}
// Changes how the thing is looked at: no new step in the history.
export function setQuery(
  changes: Record<string, string | undefined>,
  how: "push" | "replace" = "replace",
) {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(addressHere() + (text ? `?${text}` : ""), how);
}

// projects/{project}/ledgers/{ledger}
export const ledgerAddress = (name = "") => {
  const [, project = "", , id = ""] = name.split("/");
  return `/ledger/${encodeURIComponent(project)}/${encodeURIComponent(id)}`;
};
export const datasetAddress = (name = "") => `/dataset?${new URLSearchParams({ name })}`;
export const verifyAddress = (name: string) => ledgerAddress(name).replace("/ledger/", "/verify/");
export const statementAddress = (about: { ledger: string } | { dataset: string }) =>
  `/statement?${new URLSearchParams(about)}`;
export const filterAddress = (filter: string) => `/ledgers?${new URLSearchParams({ filter })}`;
// The view of a project. Its name is one word of the filter language.
export const projectAddress = (project: string) => filterAddress(`project = ${project}`);
export const callerAddress = (caller: string) => `/activity?${new URLSearchParams({ caller })}`;
export const activityAddress = (ledger: string) => `/activity?${new URLSearchParams({ ledger })}`;
export const entryAddress = (ledger: string, entry: string | number) =>
  `${ledgerAddress(ledger)}/entry/${entry}`;

const ledgerOf = (thing: Thing): string | undefined => {
  if (thing.view === "statement") return thing.ledger && fullName(thing.ledger);
  return "id" in thing && thing.id ? ledgerName(thing.project!, thing.id) : undefined;
};
// The address, looked at as the present view is: at its δ and by its method, and if both are of one
// ledger, at its size.
export function keeping(address: string): string {
  const [path, search = ""] = address.split("?");
  const to = parsePlace(path, search);
  const ledger = ledgerOf(thingOf(to));
  const same = ledger !== undefined && ledger === ledgerOf(thingOf(place.value));
  for (const name of ["delta", "method", ...(same ? ["size"] : [])]) {
    const value = place.value.query.get(name);
    if (value && !to.query.has(name)) to.query.set(name, value);
  }
  const query = to.query.toString();
  return query ? `${path}?${query}` : path;
}

// The δ that the address asks for, if it is one.
export function givenDelta(): number | undefined {
  const delta = Number(place.value.query.get("delta"));
  return delta > 0 && delta < 1 ? delta : undefined;
}
const USUAL_DELTA = 1e-5;
export const askedDelta = () => givenDelta() ?? USUAL_DELTA;
// A prefix is asked about by its size; without one, all that there is.
export function givenSize(): string | undefined {
  const size = place.value.query.get("size") ?? "";
  return /^[1-9]\d{0,18}$/.test(size) ? size : undefined;
}
