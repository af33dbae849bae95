// What may be planned: an event of each sampling scheme and mechanism, with the numbers that a
// reader fills in; and any other events, as they are written. One number in them may be looked for.
import type { Event, MechanismEvent, SamplingScheme } from "../api/types";
import { typed, typedWhole } from "../text/numbers";

// Whole numbers are strings, as in proto JSON.
type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

const rounds = (scheme: SamplingScheme, count = "1000"): Event => ({
  rounds: { scheme, queries: [{ l2NormBound: 1, noiseStddev: 1 }], count },
});
const mechanism = (kind: MechanismEvent): Event => ({ mechanism: { count: "1", ...kind } });
const ALL = { populationSize: "60000" };

export const OTHER = "other";
// Each with the numbers that a new plan of it begins with.
export const KINDS: Record<string, { title: string; event?: Event }> = {
  poisson: {
    title: "Rounds on Poisson samples",
    event: rounds({ poisson: { probability: 0.01 } }),
  },
  fixed: {
    title: "Rounds on samples of a fixed size",
    event: rounds({ ...ALL, withoutReplacement: { sampleSize: "256" } }),
  },
  replaced: {
    title: "Rounds on samples with replacement",
    event: rounds({ ...ALL, withReplacement: { sampleSize: "256" } }, "100"),
  },
  truncated: {
    title: "Rounds on Poisson samples that are cut",
    event: rounds({ ...ALL, truncatedPoisson: { probability: 0.01, maxSampleSize: "1000" } }),
  },
  shuffled: {
    title: "Shuffled epochs",
    event: rounds({ disjointBatches: { batchesPerEpoch: "100" } }),
  },
  allocated: {
    title: "Epochs of random allocation",
    event: rounds({ randomAllocation: { roundsPerEpoch: "100" } }),
  },
  full: { title: "Rounds on all records", event: rounds({ fullBatch: {} }, "10") },
  tree: {
    title: "DP-FTRL, tree of sums",
    event: mechanism({
      matrixMechanism: {
        tree: { steps: "1024", participation: { maxParticipations: "4", minSeparation: "256" } },
        noiseStddev: 10,
      },
    }),
  },
  gaussian: { title: "Gaussian", event: mechanism({ gaussian: { noiseMultiplier: 1 } }) },
  laplace: { title: "Laplace", event: mechanism({ laplace: { noiseMultiplier: 1 } }) },
  discreteGaussian: {
    title: "Discrete Gaussian",
    event: mechanism({ discreteGaussian: { sigma: 10, sensitivity: "1", dimension: "1" } }),
  },
  discreteLaplace: {
    title: "Discrete Laplace",
    event: mechanism({ discreteLaplace: { noiseParameter: 1, sensitivity: "1" } }),
  },
  randomizedResponse: {
    title: "Randomized response",
    event: mechanism({ randomizedResponse: { noiseParameter: 0.5, numBuckets: "2" } }),
  },
  shuffler: {
    title: "Reports that a shuffler mixes",
    event: mechanism({ shuffled: { localEpsilon: 1, people: "10000" } }),
  },
  exponential: {
    title: "Exponential mechanism",
    event: mechanism({ exponentialMechanism: { epsilon: 1 } }),
  },
  permuteAndFlip: {
    title: "Permute and flip",
    event: mechanism({ permuteAndFlip: { epsilon: 1 } }),
  },
  noisyMax: {
    title: "Report noisy max",
    event: mechanism({ reportNoisyMax: { noiseMultiplier: 1 } }),
  },
  sparseVector: {
    title: "Sparse vector",
    event: mechanism({ sparseVector: { thresholdNoise: 10, queryNoise: 20, cutoff: "1" } }),
  },
  epsilonDelta: {
    title: "Any (ε, δ)-private mechanism",
    event: mechanism({ epsilonDelta: { epsilon: 1, delta: 1e-6 } }),
  },
  zcdp: { title: "Any zCDP mechanism", event: mechanism({ zcdp: { rho: 0.1 } }) },
  [OTHER]: { title: "Other events, as JSON" },
};

const LABELS: Record<string, string> = {
  "rounds.count": "Rounds",
  "mechanism.count": "How often",
  noiseStddev: "Noise multiplier",
  probability: "Sampling probability",
  populationSize: "Records",
  sampleSize: "Records in a sample",
  maxSampleSize: "Most records in a sample",
  batchesPerEpoch: "Batches in an epoch",
  maxParticipations: "Most participations",
  minSeparation: "Least steps between them",
  numBuckets: "Possible answers",
  sigma: "Standard deviation σ",
  epsilon: "Its own ε",
  delta: "Its own δ",
  localEpsilon: "ε of one report",
  rho: "ρ",
};
/** What the number at this path is. */
export function labelOf(path: string): string {
  const names = path.split(".");
  const [name = "", parent = ""] = names.reverse();
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return (
    LABELS[`${parent}.${name}`] ?? LABELS[name] ?? words.slice(0, 1).toUpperCase() + words.slice(1)
  );
}

// The same with each value that is no list or object replaced; `path` as a hole names it.
const mapped = (json: Json, path: string, each: (value: Json, path: string) => Json): Json => {
  if (Array.isArray(json)) return json.map((one, i) => mapped(one, `${path}[${i}]`, each));
  if (json === null || typeof json !== "object") return each(json, path);
  const entries = Object.entries(json).map(([name, one]) => [
    name,
    mapped(one, `${path}.${name}`, each),
  ]);
  return Object.fromEntries(entries);
};

export interface Field {
  path: string; // in the list of events
  label: string;
  start: string;
  whole: boolean;
  sought: boolean; // may be looked for
}
const IS_ONE = "l2NormBound"; // the noise is a multiple of it
// Another number must fit to it, or it bounds nothing alone.
const NOT_SOUGHT = new Set([
  "populationSize",
  "batchesPerEpoch",
  "roundsPerEpoch",
  "minSeparation",
  "numBuckets",
  "delta",
]);
/** The numbers that a plan of this kind has. */
export function fieldsOf(kind: string): Field[] {
  const fields: Field[] = [];
  const { event } = KINDS[kind] ?? {};
  mapped([(event ?? {}) as Json], "events", (value, path) => {
    const last = path.slice(path.lastIndexOf(".") + 1);
    if (last === IS_ONE) return value;
    const label = labelOf(path);
    const [whole, sought] = [typeof value === "string", !NOT_SOUGHT.has(last)];
    fields.push({ path, label, start: String(value), whole, sought });
    return value;
  });
  return fields;
}

/** What is wrong with a number as it is typed, or how programs write it. */
export function readField({ whole }: Field, text: string): { value: string; wrong: string } {
  const value = (whole ? typedWhole(text) : typed(text)) ?? "";
  const must = whole
    ? "a whole number, without a comma or point: 1000"
    : "a number, as 1, 0,5 or 1e-5";
  return { value, wrong: value ? "" : must };
}

export interface Planned {
  events: Event[];
  hole?: string; // the path of the number that is looked for
}
/** Events as they are written, one a line, with "?" for the number that is looked for. */
export function readOther(text: string): Planned & { wrong: string } {
  let [hole, holes, wrong] = ["", 0, ""];
  const lines = text.split("\n").filter((line) => line.trim());
  const events = lines.map((line, i) => {
    try {
      return mapped(JSON.parse(line) as Json, `events[${i}]`, (value, path) => {
        if (value !== "?") return value;
        [hole, holes] = [path, holes + 1];
        return 1;
      });
    } catch {
      wrong ||= `one JSON object a line, and line ${i + 1} is none`;
      return {};
    }
  });
  if (!lines.length) wrong = "at least one event";
  if (holes > 1) wrong ||= `one "?" at most, and there are ${holes}`;
  return { events: events as Event[], hole: hole || undefined, wrong };
}

/** The event of a kind with these numbers; `find`: the path of the one that is looked for. */
export function planned(kind: string, numbers: Record<string, string>, find?: string): Planned {
  // Rounds in epochs are looked for in whole epochs.
  const perEpoch = Object.keys(numbers).find((path) => path.endsWith("PerEpoch"));
  const events = mapped([KINDS[kind].event as Json], "events", (value, path) => {
    if (!(path in numbers) && path !== find) return value;
    if (path !== find) return typeof value === "string" ? numbers[path] : Number(numbers[path]);
    if (typeof value !== "string") return value;
    return path.endsWith(".count") && perEpoch ? numbers[perEpoch] : "1";
  });
  return { events: events as Event[], hole: find };
}
/** The events once the number is found. */
export const withFound = ({ events, hole }: Planned, found: number): Event[] =>
  mapped(events as Json, "events", (value, path) => {
    if (path !== hole) return value;
    return typeof value === "string" ? String(found) : found;
  }) as Event[];
