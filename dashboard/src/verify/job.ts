// What a check is asked, and what it says: between the page and its worker.
import type { Method } from "../api/types";
import type { Document } from "./document_check";
import type { Place } from "./from_server";
import type { Seen } from "./kept";

// missing: what the reader asked for is not there. unfinished: the evidence is not whole.
export type Outcome = "held" | "failed" | "none" | "missing" | "unfinished";
export type CheckId =
  | "signature"
  | "entries"
  | "formed"
  | "document"
  | "cost"
  | "budget"
  | "registry"
  | "history"
  | "key"
  | "witness";
export interface Check {
  id: CheckId;
  outcome: Outcome;
  title: string;
  text: string;
  of?: string; // the file, where there are several
  ms?: number;
  bytes?: number;
  expected?: string;
  found?: string;
  witnesses?: Witness[];
  reason?: string; // the accountant's, of what it did not answer
  stopped?: { title: string; meaning: string }; // what an unfinished check means
}
// What is known of one that cosigned, or whose key the reader has: whether its signature was
// checked, is only said to be there, is not there, or is by another key than the reader's.
export interface Witness {
  name: string;
  is: "checked" | "said" | "absent" | "other";
}
export interface Job {
  // One of the two. Of several files, one is a budget's bundle and the others its runs'.
  server?: Place;
  files?: File[];
  given: string[]; // verifier keys that the reader gave for this check, which must have signed
  kept: string[]; // that the reader trusts, of whatever server
  seen?: Record<string, Seen>; // by origin
  document?: Document; // that the ledger, a register of statements and the only file, must hold
  delta?: number; // at which ε is recomputed, where nothing states one
  size?: string; // of a server's ledger: how many of its first entries ε is recomputed of
  method?: Method; // by which
  accountant?: string; // the module in base 64, compressed, where nothing can be fetched
}
// Of the first file, but for size and time, which are those of all.
export interface End {
  size: string;
  key: string; // that signed
  note: string;
  registry: { origin: string; size: string; root: string; note: string };
  ms: number;
}
export type Message =
  | { type: "check"; check: Check }
  | { type: "progress"; done: number; total: number; bytes: number }
  | { type: "end"; end: End };
// As a row of a file.
export const checkRow = ({ of, id, title, outcome, text, expected, found }: Check) => ({
  file: of,
  check: id,
  title,
  outcome,
  text,
  signed: expected,
  found,
});
