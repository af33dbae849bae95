// What the page calls things. Values that a later server may add are shown as they are, never
// guessed.
import type { AnswerDetails, BlockRange, Declaration, Filter, SamplingScheme } from "../api/types";
import { visible } from "./names";
import { grouped, number, textNear } from "./numbers";

const later = (value: string | undefined) => (value ? `unknown (${value})` : "not stated");
const among =
  (words: Record<string, string>) =>
  (value: string | undefined): string =>
    words[value ?? ""] ?? later(value);

/** "1–12, 14" */
export const blocksText = (blocks: BlockRange[]) =>
  blocks.map(({ first, last }) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");

/** Those of "1-12, 14"; [] of "", and undefined of what is no ascending list. */
export function readBlocks(text: string): BlockRange[] | undefined {
  let before = 0;
  const blocks: BlockRange[] = [];
  for (const part of text.trim() ? text.split(",") : []) {
    const [, first = "", last = first] =
      /^\s*(\d{1,5})(?:\s*[-–]\s*(\d{1,5}))?\s*$/.exec(part) ?? [];
    if (!(Number(first) > before && Number(last) >= Number(first))) return undefined;
    blocks.push({ first: `${Number(first)}`, last: `${Number(last)}` });
    before = Number(last);
  }
  return blocks;
}

export const adjacencyWords = among({
  ADD_OR_REMOVE_ONE: "add or remove one",
  REPLACE_ONE: "replace one",
  ZERO_OUT: "zero out one",
});
// What an attacker tells apart, and whom an alarm is about, by what neighbouring data sets differ
// in. undefined: an adjacency that this page does not know, of which it says nothing.
export function attackWords(
  adjacency: string | undefined,
  unit: string,
): { unknown: string; falsely: string; rightly: string } | undefined {
  switch (adjacency) {
    case "ADD_OR_REMOVE_ONE":
      return {
        unknown: `whether one given ${unit} was in the data`,
        falsely: "who were not in",
        rightly: "who were",
      };
    case "REPLACE_ONE":
      return {
        unknown: `which of two values one given ${unit} has`,
        falsely: "with the other value",
        rightly: "with the value that they look for",
      };
    case "ZERO_OUT":
      return {
        unknown: `whether one given ${unit} contributed or was left blank`,
        falsely: "left blank",
        rightly: "who contributed",
      };
    default:
      return undefined;
  }
}
export const parametersWords = among({ FIXED: "fixed in advance", ADAPTIVE: "adaptive" });

// Which guarantee a number is (Regime in accounting_service.proto).
export const isOdometer = (regime: string | undefined) => regime === "ODOMETER";
// A bound that is infinite is no guarantee, whatever was declared.
export const isGuarantee = (regime: string | undefined, bound: number) =>
  !isOdometer(regime) && regime !== "AS_PLANNED" && Number.isFinite(bound);
const SHORT_GUARANTEES = among({
  FIXED_PLAN: "fixed plan",
  FILTER: "adaptive, filter's bound",
  ODOMETER: "odometer, no differential privacy",
  AS_PLANNED: "as if planned, no guarantee",
});
export const regimeShort = (regime: string | undefined, bound = 0) =>
  Number.isFinite(bound) ? SHORT_GUARANTEES(regime) : "no guarantee";

// The methods that may be asked for, by the name that each has in every answer and statement; and
// what it is.
export const METHODS: Record<string, { name: string; about: string }> = {
  RDP: { name: "rdp", about: "Rényi differential privacy: an upper end only" },
  PLD: { name: "pld", about: "the privacy loss distribution, by Fourier transform" },
  CONTOUR: { name: "contour", about: "an integral along a contour" },
  GAUSSIAN_CLOSED_FORM: { name: "gaussian", about: "the closed form of unsampled Gaussians" },
};
export const methodWords = (method: string | undefined) => visible(method || "not stated");

export const unitsOf = (details: AnswerDetails | undefined): string[] =>
  [...new Set((details?.ledgers ?? []).map((ledger) => ledger.unitOfPrivacy ?? ""))].filter(
    Boolean,
  );

export const policyWords = (declaration: Declaration | undefined) =>
  declaration?.spoolPolicy === "SPOOL"
    ? "once it is in the trainer's own spool"
    : "after the server's receipt";

// Of a ledger that is no copy.
export const keeperWords = (declaration: Declaration | undefined) =>
  declaration?.spoolPolicy === "SPOOL"
    ? "by the trainer: the server stores what was released, whatever it costs"
    : "by the server, which refuses what would cross it";

export function filterWords(filter: Filter | undefined): string {
  if (!filter) return "none";
  const { rdp, zcdp, gdp, mixture } = filter;
  const text = (value: string | number | undefined) => textNear(number(value));
  if (rdp) return `Rényi order ${text(rdp.order)}: at most ${text(rdp.epsilon)}`;
  if (zcdp) return `zCDP: ρ at most ${text(zcdp.rho)}`;
  if (gdp) return `Gaussian DP: μ at most ${text(gdp.mu)}`;
  if (!mixture) return "unknown kind";
  const bound = `ε at most ${text(mixture.epsilon)} at δ ${text(mixture.delta)}`;
  return `Mixture of Rényi orders: ${bound}`;
}

export interface SchemeWords {
  text: string;
  rate: number | null;
  about: string;
}
export function schemeWords(scheme: SamplingScheme = {}): SchemeWords {
  const population = number(scheme.populationSize);
  const records = population ? `${grouped(population)} records` : "number of records not stated";
  const sampled = (text: string, rate: number) => ({
    text: `${text}, q = ${textNear(rate)}`,
    rate,
    about: population
      ? `${records}, about ${grouped(Math.round(rate * population))} each`
      : records,
  });
  if (scheme.poisson) return sampled("Poisson", number(scheme.poisson.probability));
  const { truncatedPoisson: cut, disjointBatches, randomAllocation: allocation } = scheme;
  if (cut) return sampled(`Poisson cut at ${grouped(cut.maxSampleSize)}`, number(cut.probability));
  const fixed = scheme.withoutReplacement ?? scheme.withReplacement;
  if (fixed) {
    const how = scheme.withReplacement ? "with replacement" : "without replacement";
    const rate = population ? number(fixed.sampleSize) / population : null;
    return { text: `${grouped(fixed.sampleSize)} ${how}`, rate, about: records };
  }
  if (disjointBatches) {
    const batches = number(disjointBatches.batchesPerEpoch);
    const text = `shuffled epochs of ${grouped(batches)} batches`;
    return { text, rate: 1 / batches, about: records };
  }
  if (allocation) {
    const rounds = number(allocation.roundsPerEpoch);
    const each = number(allocation.contributions) || 1;
    const what = each === 1 ? "random round" : `${grouped(each)} random rounds`;
    const bins = allocation.fixedBins ? ", the same every epoch" : "";
    return { text: `${what} of ${grouped(rounds)}${bins}`, rate: each / rounds, about: records };
  }
  if (scheme.fullBatch) return { text: "every record", rate: 1, about: records };
  return { text: "unknown scheme", rate: null, about: records };
}

const NOISES = among({
  GAUSSIAN: "Gaussian",
  ROUNDED_GAUSSIAN: "rounded Gaussian, exact grid",
  DISCRETE_GAUSSIAN: "discrete Gaussian",
});
export const noiseWords = (kind = "GAUSSIAN") => NOISES(kind);

// "truncated_poisson" and "TruncatedPoisson" as words.
export const spaced = (name: string) =>
  String(name)
    .replace(/[_-]/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();

// Who else signed a note: a line that begins with a dash is a signature, and begins with its key's
// name. The log's own is the note's first line.
export function cosigners(note: string): string[] {
  const [origin, ...lines] = note.split("\n");
  const names = lines.filter((line) => line.startsWith("— ")).map((line) => line.split(" ")[1]);
  return [...new Set(names)].filter((name) => name !== origin);
}
// The key id of a verifier key, NAME+ID+BASE64.
export const keyId = (key = "") => key.split("+")[1] ?? "";
