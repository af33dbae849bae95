// A ledger's entries for its views: read a page at a time, decoded, in words, and grouped into runs
// of equal rounds.
import { useEffect, useRef, useState } from "preact/hooks";
import { fromBase64 } from "../api/bytes";
import { call, CallError } from "../api/client";
import { decodeEntry, type Decoded } from "../api/decode";
import type { Event, MechanismEvent, SamplingScheme, SumQuery } from "../api/types";
import { amount, grouped, number, plural, textNear } from "../text/numbers";
import { cut, visible } from "../text/names";
import { adjacencyWords, blocksText, schemeWords, spaced } from "../text/words";

export interface Run {
  writer: string;
  first: number; // round
  rounds: number;
  fromEntry: number;
  toEntry: number;
  scheme: SamplingScheme | null; // null: not sampled
  queries: SumQuery[];
  mechanism: string;
  noise?: number; // the multiplier of a mechanism that has one
  late: boolean;
  key: string;
}
export interface Special {
  sequence: number;
  kind: string;
  text: string;
}

// σ over what one record can change, of all queries of a round together.
export function noiseMultiplier(queries: SumQuery[]): number {
  const share = (query: SumQuery) => number(query.l2NormBound) / number(query.noiseStddev);
  return 1 / Math.sqrt(queries.reduce((sum, query) => sum + share(query) ** 2, 0));
}

const quoted = (text: string | undefined) => `“${cut(visible(text), 90)}”`;
type Words = [kind: string, what: string];

// What a mechanism says of its noise, as of rounds; undefined: it has other parameters.
function mechanismNoise(event: MechanismEvent): number | undefined {
  const [, inner = {}] = Object.entries(event).find(([name]) => name !== "count") ?? [];
  const { noiseMultiplier } = inner as { noiseMultiplier?: number };
  return noiseMultiplier;
}
function mechanismWords(event: MechanismEvent, without = ""): string {
  const [kind, inner] = Object.entries(event).find(([name]) => name !== "count") ?? ["unknown", {}];
  const numbers = Object.entries(inner as object)
    .filter(([name, value]) => typeof value === "number" && name !== without)
    .map(([name, value]) => `${spaced(name)} ${textNear(value)}`);
  const times = number(event.count);
  return [spaced(kind), ...numbers, times > 1 && `${grouped(times)} times`]
    .filter(Boolean)
    .join(", ");
}

function eventWords({ sampling, sumQuery, rounds, mechanism }: Event): Words | undefined {
  if (sampling) {
    const { round, scheme } = sampling;
    return ["sampling", `round ${grouped(round)}: ${schemeWords(scheme).text}`];
  }
  if (sumQuery) {
    const { group, l2NormBound, noiseStddev, grid } = sumQuery.query ?? {};
    const units = number(grid) ? ` (whole units of ${textNear(number(grid))})` : "";
    const noise = `noise ${amount(number(noiseStddev), 5)}${units}`;
    return ["sum query", `${quoted(group)}: bound ${amount(number(l2NormBound), 5)}, ${noise}`];
  }
  if (rounds) {
    const noise = `noise multiplier ${textNear(noiseMultiplier(rounds.queries ?? []))}`;
    const scheme = schemeWords(rounds.scheme).text;
    return ["rounds", `${plural(rounds.count, "round", "equal rounds")}: ${scheme}, ${noise}`];
  }
  return mechanism && ["mechanism", mechanismWords(mechanism)];
}

export const planWords = (plan: Event[]) =>
  plan.map((event) => eventWords(event)?.[1] ?? "of a later version").join("; ") || "nothing";

// Of each kind of body but events, its words.
const BODIES: { [Kind in keyof Decoded]?: (body: NonNullable<Decoded[Kind]>) => Words } = {
  declaration: ({ dataset, adjacency }) => {
    const plan = `${quoted(dataset)}, ${adjacencyWords(adjacency)}`;
    return ["declaration", `the plan, before any data was touched: ${plan}`];
  },
  note: ({ text }) => ["note", quoted(text)],
  correction: ({ correctedSequence, text }) => [
    "correction",
    `of entry ${grouped(correctedSequence)}: ${quoted(text)}`,
  ],
  writerClosed: ({ entryCount }) => [
    "writer closed",
    `wrote ${grouped(entryCount)} entries and has nothing more to deliver`,
  ],
  seal: ({ missingWriters = [] }) => {
    const missing = missingWriters.map((name) => visible(name)).join(", ");
    return ["seal", `nothing follows${missing && `; missing: ${missing}`}`];
  },
  fork: ({ parent, parentSize, reason }) => {
    const from = `${visible(parent)} at ${grouped(parentSize)} entries`;
    return ["fork", `carries on from ${from}: ${quoted(reason)}`];
  },
  forkNotice: ({ child, size }) => [
    "fork notice",
    `${visible(child)} carries on from the first ${grouped(size)} entries`,
  ],
  grant: ({ ledger, plan = [] }) => [
    "grant",
    `set aside for ${visible(ledger)}: ${planWords(plan)}`,
  ],
  granted: ({ budget, plan = [] }) => [
    "granted",
    `may cost, of the budget ${visible(budget)}: ${planWords(plan)}`,
  ],
  retiredBlocks: ({ blocks = [], reason }) => [
    "retired blocks",
    `nothing more is granted of ${blocksText(blocks)}${reason ? `: ${quoted(reason)}` : ""}`,
  ],
  opened: ({ incarnation, previous, reason }) => {
    const after = previous ? ` after ${visible(previous)}` : "";
    const why = reason ? `: ${quoted(reason)}` : "";
    return ["opened", `incarnation ${visible(incarnation)}${after}${why}`];
  },
  conflict: ({ incarnation, reason }) => {
    const batch = `a batch of incarnation ${visible(incarnation || "none")}`;
    return ["conflict", `${batch} was refused: ${visible(reason)}`];
  },
  spoolImported: ({ incarnation, events }) => [
    "spool imported",
    `incarnation ${visible(incarnation)}: ${grouped(events)} late events`,
  ],
  resume: ({ reason }) => ["resume", quoted(reason)],
  import: ({ origin, size }) => ["import", `copy of ${visible(origin)}, ${grouped(size)} entries`],
  imported: () => ["imported", "an entry of the original"],
  keyRotate: () => ["key rotate", ""],
  registered: () => ["registered", ""],
  mapRoot: () => ["map root", ""],
};

export function entryWords(entry: Decoded): { kind: string; what: string } {
  const event = entry.event ?? entry.lateEvent?.event;
  let [kind, what] = (event && eventWords(event)) ?? ["later kind", ""];
  if (entry.lateEvent) what = `late: ${what}`;
  for (const [name, words] of Object.entries(BODIES)) {
    const body = entry[name as keyof Decoded];
    if (body) [kind, what] = (words as (body: unknown) => Words)(body);
  }
  const unknown = entry.unknownFields?.join("; ");
  return { kind, what: what || (unknown ? `of a later version: ${unknown}` : "") };
}

// What the ledger's page lists one by one.
const isSpecial = (entry: Decoded) =>
  !["event", "declaration", "writerClosed", "note", "imported"].some((name) => name in entry);

// Adds entries, in order, to runs of equal rounds.
export class Grouping {
  runs: Run[] = [];
  specials: Special[] = [];
  private open = new Map<string, Run>(); // a round that its writer may still add to
  add(entry: Decoded) {
    const sequence = number(entry.sequence);
    const { writer = "", lateEvent } = entry;
    const event = entry.event ?? lateEvent?.event;
    const { sampling, sumQuery, rounds, mechanism } = event ?? {};
    const start = (run: Partial<Run>): Run => ({
      writer,
      first: -1,
      rounds: 1,
      fromEntry: sequence,
      toEntry: sequence,
      scheme: null,
      queries: [],
      mechanism: "",
      late: lateEvent !== undefined,
      key: "",
      ...run,
    });
    if (sumQuery) {
      const first = number(sumQuery.round);
      let run = this.open.get(writer);
      if (run?.first !== first) {
        this.close(writer);
        run = start({ first });
        this.open.set(writer, run);
      }
      run.queries.push(sumQuery.query ?? {});
      run.toEntry = sequence;
      return;
    }
    if (event) this.close(writer);
    if (sampling) {
      const { round, scheme = {} } = sampling;
      this.open.set(writer, start({ first: number(round), scheme }));
      return;
    }
    if (rounds) {
      const { count, scheme = {}, queries = [] } = rounds;
      this.put(start({ rounds: number(count), scheme, queries }));
    } else if (mechanism) {
      const count = Math.max(1, number(mechanism.count));
      const noise = mechanismNoise(mechanism);
      const words = mechanismWords(mechanism, "noiseMultiplier"); // it has a column
      this.put(start({ rounds: count, mechanism: words, noise }));
    }
    if (!isSpecial(entry)) return;
    const { kind, what } = entryWords(entry);
    this.specials.push({ sequence, kind, text: what });
  }
  private close(writer: string) {
    const run = this.open.get(writer);
    this.open.delete(writer);
    if (run) this.put(run);
  }
  private put(run: Run) {
    // Epoch numbers and the like differ by round; what a reader compares is the scheme and the
    // noise.
    const scheme = run.scheme && schemeWords(run.scheme).text;
    run.key = JSON.stringify([run.writer, run.late, scheme, run.queries, run.mechanism, run.noise]);
    const last = this.runs.at(-1);
    const next = last && (last.first < 0 ? -1 : last.first + last.rounds); // round
    if (last?.key === run.key && next === run.first && (run.first >= 0 || run.mechanism)) {
      last.rounds += run.rounds;
      last.toEntry = run.toEntry;
    } else this.runs.push(run);
  }
  // The runs so far, with the rounds that their writers may still add to: more entries may follow
  // all the same.
  shown(): Run[] {
    const copy = new Grouping();
    const last = this.runs.at(-1); // the only one that a further round changes
    copy.runs = last ? [...this.runs.slice(0, -1), { ...last }] : [];
    for (const [writer, run] of this.open) {
      copy.open.set(writer, { ...run, queries: [...run.queries] });
    }
    for (const writer of [...copy.open.keys()]) copy.close(writer);
    return copy.runs.sort((a, b) => a.fromEntry - b.fromEntry);
  }
}

interface Read {
  runs: Run[];
  specials: Special[];
  read: number;
  done: boolean;
  error?: CallError;
}
const MOST = 50000;
// Reads up to MOST of the first `size` entries. A ledger only grows: what was read is not asked for
// again.
export function useRuns(ledger: string, size: number): Read {
  const [state, setState] = useState<Read>({ runs: [], specials: [], read: 0, done: false });
  const kept = useRef({ ledger, grouping: new Grouping(), next: 0 });
  useEffect(() => {
    if (!size) return;
    const control = new AbortController();
    const end = Math.min(size, MOST);
    // Another ledger, or fewer of its entries than were read.
    if (kept.current.ledger !== ledger || kept.current.next > end) {
      kept.current = { ledger, grouping: new Grouping(), next: 0 };
    }
    const so = kept.current;
    (async () => {
      try {
        while (so.next < end) {
          const pageSize = Math.min(5000, end - so.next);
          const request = { ledger, firstSequence: String(so.next), pageSize };
          const answer = await call("LedgerService/ReadEntries", request, control.signal);
          if (control.signal.aborted) return;
          if (!answer.entries?.length) break;
          for (const text of answer.entries) {
            so.grouping.add(decodeEntry(fromBase64(text)));
            so.next++;
          }
        }
        const { grouping, next } = so;
        const specials = [...grouping.specials];
        setState({ runs: grouping.shown(), specials, read: next, done: next >= size });
      } catch (failed) {
        if (control.signal.aborted) return;
        const why = `entry ${so.next} cannot be read: ${(failed as Error).message}`;
        const error = failed instanceof CallError ? failed : new CallError("data_loss", why);
        setState((old) => ({ ...old, error }));
      }
    })();
    return () => control.abort();
  }, [ledger, size]);
  return state;
}
