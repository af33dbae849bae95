// What a history of events costs, as certified intervals: the accountant of dpledger as WebAssembly. One instance of
// it answers one question after the other; one that ran out of memory is replaced by another.
import { AccountingError, Instance, Stopped } from "./instance.js";

export { AccountingError, Stopped };

async function bytes() {
  const address = new URL("accountant.wasm", import.meta.url);
  if (address.protocol !== "file:") return (await fetch(address)).arrayBuffer();
  const { readFile } = await import("node:fs/promises");
  return readFile(address);
}

let module;
let instance;
const started = () => {
  module ??= bytes().then(WebAssembly.compile);
  return (instance ??= module.then((compiled) => Instance.start(compiled)));
};
const asked = (method) => async (question) => {
  try {
    return (await started()).call(method, question);
  } catch (error) {
    if (!(error instanceof AccountingError)) module = instance = undefined;
    throw error;
  }
};

export const epsilon = asked("ComputeEpsilon");
export const delta = asked("ComputeDelta");
export const calibrate = asked("Calibrate");
export const tuning = asked("ComputeTuningCost");
export const profile = asked("ComputeProfile");
export const audit = asked("AuditClaim");

// The subject of a question about DP-SGD: so many steps, each on a Poisson sample.
export const dpSgd = ({ noiseMultiplier, samplingProbability, steps }) => ({
  events: [
    {
      rounds: {
        count: String(steps),
        scheme: { poisson: { probability: samplingProbability } },
        queries: [{ l2NormBound: 1, noiseStddev: noiseMultiplier }],
      },
    },
  ],
});
