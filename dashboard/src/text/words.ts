// What the page calls things. Values that a later server may add are shown as they are, never guessed.
import type { AnswerDetails, Declaration, Filter, SamplingScheme } from "../api/types";
import { count, double, grouped, textNear } from "./numbers";

const later = (value: string | number | undefined) => (value === undefined ? "not stated" : `unknown (${value})`);

export function adjacencyWords(value: string | undefined): string {
  switch (value) {
    case "ADD_OR_REMOVE_ONE": return "add or remove one";
    case "REPLACE_ONE": return "replace one";
    case "ZERO_OUT": return "zero out one";
    default: return later(value);
  }
}
// What an attacker tells apart, and whom an alarm is about, by what neighbouring data sets differ in. undefined: an
// adjacency that this page does not know, of which it says nothing.
export function attackWords(adjacency: string | undefined, unit: string): { unknown: string; found: string } | undefined {
  switch (adjacency) {
    case "ADD_OR_REMOVE_ONE": return { unknown: `whether one given ${unit} was in the data`, found: "of those who were in" };
    case "REPLACE_ONE": return { unknown: `which of two values one given ${unit} has`, found: "of those who have the value that they look for" };
    case "ZERO_OUT": return { unknown: `whether one given ${unit} contributed or was left blank`, found: "of those who contributed" };
    default: return undefined;
  }
}
export function parametersWords(value: string | undefined): string {
  switch (value) {
    case "FIXED": return "fixed in advance";
    case "ADAPTIVE": return "adaptive";
    default: return later(value);
  }
}
// Which guarantee a number is. An older server does not say; then its parameters do, as it knew no odometer.
export const regimeOf = (details: AnswerDetails | undefined): string | undefined =>
  details?.regime && details.regime !== "REGIME_UNSPECIFIED" ? details.regime : details?.parameters === "FIXED" ? "FIXED_PLAN" : details?.parameters === "ADAPTIVE" ? "FILTER" : undefined;
export const isOdometer = (regime: string | undefined) => regime === "ODOMETER";
// A bound that is infinite is no guarantee, whatever was declared.
const NO_GUARANTEE = "none: what was released has no bound";
export const isGuarantee = (regime: string | undefined, bound: number) => !isOdometer(regime) && Number.isFinite(bound);
export function guaranteeWords(regime: string | undefined, bound: number): string {
  if (!Number.isFinite(bound)) return NO_GUARANTEE;
  switch (regime) {
    case "FIXED_PLAN": return "differential privacy, parameters fixed in advance";
    case "FILTER": return "differential privacy within the declared filter, parameters adaptive";
    case "ODOMETER": return "no differential privacy: an odometer’s bound on the runs that happened";
    default: return later(regime);
  }
}
export const regimeShort = (regime: string | undefined, bound = 0) => (!Number.isFinite(bound) ? "no guarantee" : regime === "FIXED_PLAN" ? "fixed plan" : regime === "FILTER" ? "adaptive, filter's bound" : regime === "ODOMETER" ? "odometer, no differential privacy" : later(regime));

const METHODS: Record<string, string> = {
  contour: "contour integral", pld: "privacy loss distribution", rdp: "Rényi DP", gaussian: "closed form of Gaussians",
};
export const methodWords = (method: string | undefined) =>
  (method || "not stated").split(", ").map((one) => METHODS[one] ?? one).join(", ");

export const unitsOf = (details: AnswerDetails | undefined): string[] =>
  [...new Set((details?.ledgers ?? []).map((ledger) => ledger.unitOfPrivacy ?? ""))].filter(Boolean);

export function policyWords(declaration: Declaration): string {
  return declaration.spoolPolicy === "SPOOL" ? "once it is in the trainer's own spool" : "after the server's receipt";
}

export function filterWords(filter: Filter | undefined): string {
  if (!filter) return "none";
  if (filter.rdp) return `Rényi order ${textNear(double(filter.rdp.order))}: at most ${textNear(double(filter.rdp.epsilon))}`;
  if (filter.zcdp) return `zCDP: ρ at most ${textNear(double(filter.zcdp.rho))}`;
  if (filter.gdp) return `Gaussian DP: μ at most ${textNear(double(filter.gdp.mu))}`;
  if (filter.mixture) return `Mixture of Rényi orders: ε at most ${textNear(double(filter.mixture.epsilon))} at δ ${textNear(double(filter.mixture.delta))}`;
  return "unknown kind";
}

export interface SchemeWords { text: string; rate: number | null; about: string }
export function schemeWords(scheme: SamplingScheme | undefined): SchemeWords {
  const population = count(scheme?.populationSize);
  const records = population ? `${grouped(population)} records` : "number of records not stated";
  const sized = (rate: number) => (population ? `${records}, about ${grouped(Math.round(rate * population))} each` : records);
  if (scheme?.poisson) {
    const q = double(scheme.poisson.probability);
    return { text: `Poisson, q = ${textNear(q)}`, rate: q, about: sized(q) };
  }
  if (scheme?.truncatedPoisson) {
    const q = double(scheme.truncatedPoisson.probability);
    return { text: `Poisson cut at ${grouped(scheme.truncatedPoisson.maxSampleSize)}, q = ${textNear(q)}`, rate: q, about: sized(q) };
  }
  const fixed = scheme?.withoutReplacement ?? scheme?.withReplacement;
  if (fixed) {
    const size = count(fixed.sampleSize);
    const how = scheme?.withReplacement ? "with replacement" : "without replacement";
    return { text: `${grouped(size)} ${how}`, rate: population ? size / population : null, about: records };
  }
  if (scheme?.disjointBatches) {
    const batches = count(scheme.disjointBatches.batchesPerEpoch);
    return { text: `shuffled epochs of ${grouped(batches)} batches`, rate: 1 / batches, about: records };
  }
  if (scheme?.randomAllocation) {
    const rounds = count(scheme.randomAllocation.roundsPerEpoch);
    const each = count(scheme.randomAllocation.contributions ?? 0) || 1;
    const what = each === 1 ? "random round" : `${grouped(each)} random rounds`;
    const fixed = scheme.randomAllocation.fixedBins ? ", the same every epoch" : "";
    return { text: `${what} of ${grouped(rounds)}${fixed}`, rate: each / rounds, about: records };
  }
  if (scheme?.fullBatch) return { text: "every record", rate: 1, about: records };
  return { text: "unknown scheme", rate: null, about: records };
}

export const noiseWords = (kind: string | undefined) =>
  kind === "ROUNDED_GAUSSIAN" ? "rounded Gaussian, exact grid" : kind === "DISCRETE_GAUSSIAN" ? "discrete Gaussian" : kind === undefined || kind === "GAUSSIAN" ? "Gaussian" : later(kind);

// "truncated_poisson" and "TruncatedPoisson" as words.
export const spaced = (name: string) => name.replace(/[_-]/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
