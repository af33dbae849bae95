// The two places that a ledger's evidence comes from are a server and a bundle (from_server.ts,
// from_bundle.ts).
import type { Method } from "../api/types";
import type { Claim } from "./cost_check";
import type { EntriesCheck } from "./entries_check";
import type { Note, VerifierKey } from "./note";
import type { Evidence } from "./registry";

export interface Opening {
  ledger: Note;
  registry: Note;
  keys: VerifierKey[]; // that came along
  evidence: Evidence;
}
export interface Source {
  opening(): Promise<Opening>;
  entries(check: EntriesCheck, progress: (bytes: number) => void): Promise<void>;
  // What it says that the entries cost, at this δ where it can be asked. After entries().
  claim(size: bigint, delta?: number, method?: Method): Promise<Claim>;
  // Of the registry. Undefined: the source has no such proof.
  consistency?(from: bigint, to: bigint): Promise<Uint8Array[]>;
  // The first entry that differs from the hashes which the server keeps of it: no proof, but a
  // place to look at.
  firstWrong?(check: EntriesCheck): Promise<number | undefined>;
}

// The evidence is not whole, or none. Nothing is wrong with what came.
export class Lost extends Error {
  constructor(
    message: string,
    readonly title = "The checks did not come to an end",
    readonly meaning = "Nothing is wrong as far as it went, and nothing is proved.",
  ) {
    super(message);
  }
}
