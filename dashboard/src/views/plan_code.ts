// The question of a plan, to be asked again from elsewhere: Python, the command line, curl.
import type { MethodName } from "../api/client";
import type { CalibrateRequest, ComputeEpsilonRequest } from "../api/types";

// Numbers as text that all of them read.
export interface Plan {
  solve: string; // "noise" or "cost"
  epsilon: string;
  delta: string;
  sampling: string;
  steps: string;
  noise: string;
}
const python = ({ solve, ...given }: Plan) => {
  const rest = [
    `delta=${given.delta}`,
    `sample_rate=${given.sampling}`,
    `steps=${given.steps}`,
    'adjacency="add-or-remove-one"',
    'parameters="fixed"',
  ].join(", ");
  const question =
    solve === "noise"
      ? `calibrate(target_epsilon=${given.epsilon}, ${rest}).noise_multiplier`
      : `epsilon(noise_multiplier=${given.noise}, ${rest}).upper`;
  return `import dpledger\n\nprint(dpledger.${question})\n`;
};
const commandLine = ({ solve, ...given }: Plan) => {
  const what =
    solve === "noise"
      ? `calibrate --solve noise-multiplier --epsilon ${given.epsilon}`
      : `epsilon --noise-multiplier ${given.noise} --parameters fixed`;
  const rest = `--delta ${given.delta} --sampling-probability ${given.sampling}`;
  return `dpledger ${what} ${rest} --steps ${given.steps} --adjacency add-or-remove-one\n`;
};
const curl = (base: string, method: MethodName, request: object) =>
  `curl --json '${JSON.stringify(request)}' '${base}/dpledger.v1.${method}'\n`;

type Question =
  | { method: "AccountingService/Calibrate"; request: CalibrateRequest }
  | { method: "AccountingService/ComputeEpsilon"; request: ComputeEpsilonRequest };
export const planCode = (plan: Plan, base: string, { method, request }: Question) => ({
  Python: python(plan),
  "Command line": commandLine(plan),
  curl: curl(base, method, request),
});
