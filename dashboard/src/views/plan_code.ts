// The questions of a plan, to be asked again from elsewhere: Python, the command line, curl.
import type {
  CalibrateRequest,
  ComputeEpsilonRequest,
  ComputeTuningCostRequest,
  Event,
} from "../api/types";
import { OTHER } from "./plan_kinds";

export type Question =
  | { method: "AccountingService/Calibrate"; request: CalibrateRequest }
  | { method: "AccountingService/ComputeEpsilon"; request: ComputeEpsilonRequest }
  | { method: "AccountingService/ComputeTuningCost"; request: ComputeTuningCostRequest };
interface From {
  base: string; // the server's address
  callers: boolean; // it asks who asks
}

// One word of a shell, whatever is in it.
const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const asWord = (name: string) => name.toLowerCase().replaceAll("_", "-");
const eventsOf = ({ request }: Question): Event[] =>
  ("events" in request ? request.events : request.subject?.events) ?? [];
const meanOf = ({ request }: Question) =>
  "trials" in request ? request.trials?.negativeBinomial?.mean : undefined;

type Json = string | number | boolean | Json[] | { [name: string]: Json };
// Classes of the package that are not called as the API's fields are.
const CLASSES: Record<string, string> = {
  rounds: "RoundsEvent",
  queries: "SumQuery",
  tree: "TreeEncoder",
  zcdp: "ZCDp",
};
// Of these it has a class for each case, which takes what stands beside the case.
const FOLDED = ["event", "scheme", "mechanism"];
function asPython(field: string, value: Json): string {
  if (Array.isArray(value)) return `[${value.map((one) => asPython(field, one)).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  if (FOLDED.includes(field)) {
    const isCase = ([, one]: [string, Json]) => typeof one === "object";
    const parts = Object.entries(value);
    const [name, of] = parts.find(isCase)!;
    const beside = Object.fromEntries(parts.filter((part) => !isCase(part)));
    return asPython(name, { ...(of as object), ...beside });
  }
  const named = Object.entries(value).map(([name, one]) => {
    const argument = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return `${argument}=${asPython(name, one)}`;
  });
  const title = CLASSES[field] ?? field[0].toUpperCase() + field.slice(1);
  return `dpledger.${title}(${named.join(", ")})`;
}
// Poisson rounds have a shorter word.
function eventAsPython(event: Event): string {
  const { scheme, queries, count } = event.rounds ?? {};
  if (!scheme?.poisson) return asPython("event", event as Json);
  return `dpledger.dp_sgd(${queries?.[0].noiseStddev}, ${scheme.poisson.probability}, ${count})`;
}
// The package asks no server: what a data set has been through it reads from bundles.
const BUNDLES = `# "dpledger ledger export" makes a bundle of each ledger of the data set.
spent = dpledger.open(*glob.glob("*.bundle"))
`;
// Undefined where the package has no words for a question.
function python(question: Question): string | undefined {
  const { method, request } = question;
  const events = `[${eventsOf(question).map(eventAsPython)}]`;
  const { adjacency } = request.options ?? {};
  const terms = `delta=${request.delta}${adjacency ? `, adjacency="${asWord(adjacency)}"` : ""}`;
  const { dataset } = request.subject ?? {};
  if (method === "AccountingService/Calibrate") {
    return (
      `${dataset ? BUNDLES : ""}found = dpledger.calibrate(\n` +
      `    target_epsilon=${request.epsilon}, ${terms},${dataset ? " spent=spent," : ""}\n` +
      `    events=${events},\n    hole="${request.hole}")\nprint(found.value)\n`
    );
  }
  if (dataset) return undefined;
  if (method === "AccountingService/ComputeEpsilon")
    return `print(dpledger.epsilon(${events}, ${terms}).upper)\n`;
  const trials = `dpledger.NegativeBinomialTrials(eta=1, mean=${meanOf(question)})`;
  return `print(dpledger.tuning(${events}, ${terms},\n    trials=${trials}).epsilon.upper)\n`;
}
function commandLine(question: Question, { base, callers }: From): string {
  const { method, request } = question;
  const { adjacency } = request.options ?? {};
  const { dataset } = request.subject ?? {};
  const words =
    method === "AccountingService/Calibrate"
      ? ["calibrate", "--epsilon", request.epsilon, "--hole", word(request.hole ?? "")]
      : method === "AccountingService/ComputeEpsilon"
        ? ["epsilon"]
        : ["tuning --trials negative-binomial --eta 1 --mean-trials", meanOf(question)];
  words.push("--delta", request.delta);
  if (adjacency) words.push("--adjacency", asWord(adjacency));
  if (adjacency && words[0] !== "calibrate") words.push("--parameters", "fixed");
  if (dataset) {
    const { protocol, hostname, port } = new URL(base);
    const plain = protocol === "http:";
    const at = `${hostname}:${port || (plain ? "80" : "443")}`;
    words.push("--server", plain ? `${protocol}//${at}` : at, "--dataset", word(dataset));
    if (callers) words.push("--token-file", "FILE");
  }
  const lines = eventsOf(question).map((event) => `${JSON.stringify(event)}\n`);
  return `dpledger ${words.join(" ")} --events - <<'END'\n${lines.join("")}END\n`;
}
// A token goes the way of a file: other users see the words of a command.
const curl = ({ method, request }: Question, { base, callers }: From) =>
  (callers ? "sed 's/^/authorization: Bearer /' FILE | curl --header @- " : "curl ") +
  `--json ${word(JSON.stringify(request))} ${word(`${base}/dpledger.v1.${method}`)}\n`;

/** By the name of the place to ask from. */
export function planCode(kind: string, questions: Question[], from: From): Record<string, string> {
  const said = kind === OTHER ? [] : questions.map(python);
  const imports = said.some((one) => one?.includes("glob.")) ? "import glob\n" : "";
  return {
    ...(said.length > 0 &&
      !said.includes(undefined) && { Python: `${imports}import dpledger\n\n${said.join("")}` }),
    "Command line": questions.map((one) => commandLine(one, from)).join(""),
    curl: questions.map((one) => curl(one, from)).join(""),
  };
}
