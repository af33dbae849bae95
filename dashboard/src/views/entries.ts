// A ledger's entries for its views: read a page at a time, decoded, and grouped into runs of equal rounds.
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import { decodeEntry, fromBase64, type Decoded } from "../api/decode";
import type { SamplingScheme, SumQuery } from "../api/types";
import { amount, count, double, grouped, textNear } from "../text/numbers";
import { cut, visible } from "../text/names";
import { adjacencyWords, schemeWords, spaced } from "../text/words";

export interface Run {
  writer: string;
  first: number; // round
  rounds: number;
  fromEntry: number;
  toEntry: number;
  scheme: SamplingScheme | null; // null: not sampled
  queries: SumQuery[];
  mechanism: string;
  late: boolean;
  key: string;
}
export interface Special { sequence: number; kind: string; text: string }

export const kindOf = (entry: Decoded): string =>
  ["event", "declaration", "resume", "note", "writerClosed", "seal", "correction", "fork", "forkNotice", "keyRotate", "import", "imported", "registered", "opened", "conflict", "lateEvent", "spoolImported", "mapRoot"]
    .find((name) => name in entry) ?? "later kind";

// σ over what one record can change, of all queries of a round together.
export function noiseMultiplier(queries: SumQuery[]): number {
  const precision = queries.reduce((sum, query) => sum + (double(query.l2NormBound) / double(query.noiseStddev)) ** 2, 0);
  return 1 / Math.sqrt(precision);
}

export function entryWords(entry: Decoded): { kind: string; what: string } {
  const event = entry.event ?? entry.lateEvent?.event;
  const late = entry.lateEvent ? "late: " : "";
  const quoted = (text: string | undefined) => `“${cut(visible(text ?? ""), 90)}”`;
  if (event?.sampling) return { kind: "sampling", what: `${late}round ${grouped(event.sampling.round)}: ${schemeWords(event.sampling.scheme).text}` };
  if (event?.sumQuery) {
    const query = event.sumQuery.query ?? {};
    const grid = double(query.grid);
    return { kind: "sum query", what: `${late}${quoted(query.group)}: bound ${amount(double(query.l2NormBound), 5)}, noise ${amount(double(query.noiseStddev), 5)}${grid ? ` (whole units of ${textNear(grid)})` : ""}` };
  }
  if (event?.rounds) {
    return { kind: "rounds", what: `${late}${grouped(event.rounds.count)} equal rounds: ${schemeWords(event.rounds.scheme).text}, noise multiplier ${textNear(noiseMultiplier(event.rounds.queries ?? []))}` };
  }
  if (event?.mechanism) return { kind: "mechanism", what: late + mechanismWords(event.mechanism as Record<string, unknown>) };
  const { declaration, note, correction, writerClosed, seal, fork, forkNotice, opened, conflict, spoolImported, resume } = entry;
  if (declaration) return { kind: "declaration", what: `the plan, before any data was touched: ${quoted(declaration.dataset)}, ${adjacencyWords(declaration.adjacency)}` };
  if (note) return { kind: "note", what: quoted(note.text) };
  if (correction) return { kind: "correction", what: `of entry ${grouped(correction.correctedSequence)}: ${quoted(correction.text)}` };
  if (writerClosed) return { kind: "writer closed", what: `wrote ${grouped(writerClosed.entryCount)} entries and has nothing more to deliver` };
  if (seal) return { kind: "seal", what: `nothing follows${seal.missingWriters?.length ? `; missing: ${seal.missingWriters.map(visible).join(", ")}` : ""}` };
  if (fork) return { kind: "fork", what: `carries on from ${visible(fork.parent ?? "")} at ${grouped(fork.parentSize)} entries: ${quoted(fork.reason)}` };
  if (forkNotice) return { kind: "fork notice", what: `${visible(forkNotice.child ?? "")} carries on from the first ${grouped(forkNotice.size)} entries` };
  if (opened) return { kind: "opened", what: `incarnation ${visible(opened.incarnation ?? "")}${opened.previous ? ` after ${visible(opened.previous)}` : ""}${opened.reason ? `: ${quoted(opened.reason)}` : ""}` };
  if (conflict) return { kind: "conflict", what: `a batch of incarnation ${visible(conflict.incarnation || "none")} was refused: ${visible(conflict.reason ?? "")}` };
  if (spoolImported) return { kind: "spool imported", what: `incarnation ${visible(spoolImported.incarnation ?? "")}: ${grouped(spoolImported.events)} late events` };
  if (resume) return { kind: "resume", what: quoted(resume.reason) };
  if (entry.import) return { kind: "import", what: `copy of ${visible(entry.import.origin ?? "")}, ${grouped(entry.import.size)} entries` };
  if (entry.imported) return { kind: "imported", what: "an entry of the original" };
  return { kind: spaced(kindOf(entry)), what: entry.unknownFields ? `of a later version: ${entry.unknownFields.join("; ")}` : "" };
}

function mechanismWords(event: Record<string, unknown>): string {
  const kind = Object.keys(event).find((name) => name !== "count") ?? "unknown";
  const inner = (event[kind] ?? {}) as Record<string, unknown>;
  const numbers = Object.entries(inner).filter(([, value]) => typeof value === "number").map(([name, value]) => `${spaced(name)} ${textNear(value as number)}`);
  const times = count(event.count as string | undefined);
  return `${spaced(kind)}${numbers.length ? `, ${numbers.join(", ")}` : ""}${times > 1 ? `, ${grouped(times)} times` : ""}`;
}

// Adds entries, in order, to runs of equal rounds.
export class Grouping {
  runs: Run[] = [];
  specials: Special[] = [];
  private open = new Map<string, Run>(); // a round that its writer may still add to
  add(entry: Decoded) {
    const sequence = count(entry.sequence);
    const writer = entry.writer ?? "";
    const late = entry.lateEvent !== undefined;
    const event = entry.event ?? entry.lateEvent?.event;
    const start = (first: number, rounds: number, scheme: SamplingScheme | null, queries: SumQuery[], mechanism = ""): Run =>
      ({ writer, first, rounds, fromEntry: sequence, toEntry: sequence, scheme, queries, mechanism, late, key: "" });
    if (event?.sampling) {
      this.close(writer);
      this.open.set(writer, start(count(event.sampling.round), 1, event.sampling.scheme ?? {}, []));
    } else if (event?.sumQuery) {
      const round = count(event.sumQuery.round);
      let run = this.open.get(writer);
      if (!run || run.first !== round) {
        this.close(writer);
        run = start(round, 1, null, []);
        this.open.set(writer, run);
      }
      run.queries.push(event.sumQuery.query ?? {});
      run.toEntry = sequence;
    } else {
      if (event) this.close(writer);
      if (event?.rounds) this.put(start(-1, count(event.rounds.count), event.rounds.scheme ?? {}, event.rounds.queries ?? []));
      else if (event?.mechanism) this.put(start(-1, Math.max(1, count(event.mechanism.count)), null, [], mechanismWords(event.mechanism as Record<string, unknown>)));
      const kind = kindOf(entry);
      if (!["event", "declaration", "writerClosed", "note", "imported"].includes(kind)) this.specials.push({ sequence, kind: entryWords(entry).kind, text: entryWords(entry).what });
    }
  }
  private close(writer: string) {
    const run = this.open.get(writer);
    this.open.delete(writer);
    if (run) this.put(run);
  }
  private put(run: Run) {
    // Epoch numbers and the like differ by round; what a reader compares is the scheme and the noise.
    run.key = JSON.stringify([run.writer, run.late, run.scheme && schemeWords(run.scheme).text, run.queries, run.mechanism]);
    const last = this.runs[this.runs.length - 1];
    const follows = last && last.key === run.key && (run.first < 0 ? last.first < 0 && run.mechanism !== "" : last.first >= 0 && run.first === last.first + last.rounds);
    if (follows) {
      last.rounds += run.rounds;
      last.toEntry = run.toEntry;
    } else this.runs.push(run);
  }
  // The runs so far, with the rounds that their writers may still add to: more entries may follow all the same.
  shown(): Run[] {
    const copy = new Grouping();
    const last = this.runs[this.runs.length - 1]; // the only one that a further round changes
    copy.runs = last ? [...this.runs.slice(0, -1), { ...last }] : [];
    for (const [writer, run] of this.open) copy.open.set(writer, { ...run, queries: [...run.queries] });
    for (const writer of [...copy.open.keys()]) copy.close(writer);
    return copy.runs.sort((a, b) => a.fromEntry - b.fromEntry);
  }
}

export interface Read { runs: Run[]; specials: Special[]; read: number; done: boolean; error?: CallError }
const AT_ONCE = 50000;
// Reads up to `most` of the first `size` entries. A ledger only grows: what was read is not asked for again.
export function useRuns(ledger: string, size: number, most = AT_ONCE): Read {
  const [state, setState] = useState<Read>({ runs: [], specials: [], read: 0, done: false });
  const kept = useRef({ ledger, grouping: new Grouping(), next: 0 });
  useEffect(() => {
    if (!size) return;
    const control = new AbortController();
    const end = Math.min(size, most);
    // Another ledger, or fewer of its entries than were read.
    if (kept.current.ledger !== ledger || kept.current.next > end) kept.current = { ledger, grouping: new Grouping(), next: 0 };
    const so = kept.current;
    (async () => {
      try {
        while (so.next < end) {
          const answer = await call("LedgerService/ReadEntries", { ledger, firstSequence: String(so.next), pageSize: Math.min(5000, end - so.next) }, control.signal);
          if (control.signal.aborted) return;
          const entries = answer.entries ?? [];
          if (!entries.length) break;
          for (const text of entries) {
            so.grouping.add(decodeEntry(fromBase64(text)));
            so.next++;
          }
        }
        setState({ runs: so.grouping.shown(), specials: [...so.grouping.specials], read: so.next, done: so.next >= size });
      } catch (error) {
        if (!control.signal.aborted) setState((old) => ({ ...old, error: error instanceof CallError ? error : new CallError("data_loss", `entry ${so.next} cannot be read: ${(error as Error).message}`) }));
      }
    })();
    return () => control.abort();
  }, [ledger, size, most]);
  return state;
}
