// Finds ledgers, data sets, projects and callers by a part of their name, among all that the server
// has; and ledgers by their root.
import { useEffect, useState } from "preact/hooks";
import { fromBase64, hex, strictBase64 } from "./bytes";
import { call, CallError, everyPage } from "./client";
import type { Ledger } from "./types";
import { apart, quoted } from "../text/filter";
import { projectOf } from "../text/names";

const PARENT = "projects/-";
const MOST = 8;
const WAIT_MS = 200; // after the last letter

const listed = async (filter: string, pageSize: number, signal: AbortSignal) => {
  const request = { parent: PARENT, filter: apart(filter, false).filter, pageSize };
  return (await call("LedgerService/ListLedgers", request, signal)).ledgers ?? [];
};
// "team/run" is how this page writes projects/team/ledgers/run.
const ofName = (text: string) =>
  `name:${quoted(text.replace(/^([^/]+)\/([^/]*)$/, "$1/ledgers/$2"))}`;

const VALUES: Record<string, (ledger: Ledger) => string | undefined> = {
  dataset: ({ declaration }) => declaration?.dataset,
  project: ({ name }) => projectOf(name),
  unit: ({ declaration }) => declaration?.unitOfPrivacy,
  creator: ({ creator }) => creator,
};
// The different values of a field: each question leaves out what was found, so that many ledgers of
// one value hide no other.
async function different(field: string, text: string, signal: AbortSignal, most = MOST) {
  const found: string[] = [];
  while (found.length < most) {
    const rest = found.map((value) => ` AND ${field} != ${quoted(value)}`).join("");
    const [ledger] = await listed(`${field}:${quoted(text)}${rest}`, 1, signal);
    const value = ledger && VALUES[field](ledger);
    if (!value) break;
    found.push(value);
  }
  return found;
}
const MOST_HOLDING = 16; // of which those that begin otherwise are not offered
let last = new AbortController();
// Of a field, values that hold what is typed of one; undefined if more was typed since.
export async function valuesLike(field: string, typed: string) {
  last.abort();
  const { signal } = (last = new AbortController());
  await new Promise((done) => setTimeout(done, WAIT_MS));
  if (signal.aborted || !VALUES[field]) return undefined;
  return different(field, typed, signal, typed ? MOST_HOLDING : MOST);
}

// What may be a hash, as hexadecimal digits: these, as many as the page shows of a root or all of
// them, or base 64, as the API has it.
export function hashIn(text: string): string | undefined {
  const digits = text.toLowerCase().replace(/^sha256:|…$|\s/g, "");
  if (/^([0-9a-f]{32}|[0-9a-f]{64})$/.test(digits)) return digits;
  const bytes = strictBase64(text);
  return bytes?.length === 32 ? hex(bytes) : undefined;
}
// The ledgers whose root this is. The server looks up no hash: all that it lists are read.
async function withRoot(hash: string, signal: AbortSignal) {
  const found: string[] = [];
  const take = ({ ledgers = [] }: { ledgers?: Ledger[] }) => {
    for (const { name = "", rootHash = "" } of ledgers)
      if (hex(fromBase64(rootHash)).startsWith(hash)) found.push(name);
  };
  await everyPage("LedgerService/ListLedgers", { parent: PARENT, pageSize: 1000 }, take, signal);
  return found;
}

export interface Found {
  ledgers: string[];
  roots: string[]; // ledgers whose root is what was asked for
  datasets: string[];
  projects: string[];
  callers: string[];
}
async function find(text: string, signal: AbortSignal): Promise<Found> {
  const hash = hashIn(text);
  const [ledgers, roots, datasets, projects, callers] = await Promise.all([
    listed(ofName(text), MOST, signal),
    hash ? withRoot(hash, signal) : [],
    different("dataset", text, signal),
    different("project", text, signal),
    different("creator", text, signal),
  ]);
  return { ledgers: ledgers.map(({ name = "" }) => name), roots, datasets, projects, callers };
}
export const filterOf = (text: string) =>
  `${ofName(text)} OR dataset:${quoted(text)} OR creator:${quoted(text)}`;

const NOTHING: Found = { ledgers: [], roots: [], datasets: [], projects: [], callers: [] };
// What was last found stays until the next is.
export function useFound(text: string) {
  const [state, setState] = useState<{ of: string; found: Found; error?: CallError }>({
    of: "",
    found: NOTHING,
  });
  const asked = text.trim();
  useEffect(() => {
    if (!asked) return setState({ of: "", found: NOTHING });
    const control = new AbortController();
    const timer = setTimeout(() => {
      find(asked, control.signal).then(
        (found) => setState({ of: asked, found }),
        (error: CallError) =>
          !control.signal.aborted && setState({ of: asked, found: NOTHING, error }),
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [asked]);
  return { ...state, busy: state.of !== asked };
}
