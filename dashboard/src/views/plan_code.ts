// The question of a plan, to be asked again from elsewhere: Python, the command line, curl.
import type { CalibrateRequest, ComputeEpsilonRequest, Event } from "../api/types";

type Question =
  | { method: "AccountingService/Calibrate"; request: CalibrateRequest }
  | { method: "AccountingService/ComputeEpsilon"; request: ComputeEpsilonRequest };

// One word of a shell, whatever is in it.
const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const asWord = (name: string) => name.toLowerCase().replaceAll("_", "-");
const eventsOf = ({ request }: Question): Event[] =>
  ("events" in request ? request.events : request.subject?.events) ?? [];

// Of Poisson rounds alone, which Python has words for.
function python(question: Question): string {
  const { rounds } = eventsOf(question)[0];
  const { method, request } = question;
  const noise = rounds?.queries?.[0].noiseStddev;
  const run = `dp_sgd(${noise}, ${rounds?.scheme?.poisson?.probability}, ${rounds?.count})`;
  const { adjacency = "" } = request.options ?? {};
  const rest = `delta=${request.delta}, adjacency="${asWord(adjacency)}"`;
  if (method !== "AccountingService/Calibrate")
    return `import dpledger\n\nprint(dpledger.epsilon(dpledger.${run}, ${rest}).upper)\n`;
  const hole = (request.hole ?? "").replace("rounds.", "").replace("noiseStddev", "noise_stddev");
  return (
    "import dpledger\n\nfound = dpledger.calibrate(\n" +
    `    target_epsilon=${request.epsilon}, ${rest},\n` +
    `    events=[dpledger.${run}], hole="${hole}")\nprint(found.value)\n`
  );
}
function commandLine(question: Question, base: URL): string {
  const { method, request } = question;
  const { adjacency } = request.options ?? {};
  const { dataset } = request.subject ?? {};
  const words =
    method === "AccountingService/Calibrate"
      ? ["calibrate", "--epsilon", request.epsilon, "--hole", word(request.hole ?? "")]
      : ["epsilon"];
  words.push("--delta", request.delta);
  if (adjacency) words.push("--adjacency", asWord(adjacency));
  if (adjacency && words[0] === "epsilon") words.push("--parameters", "fixed");
  if (dataset) {
    const plain = base.protocol === "http:";
    const port = base.port || (plain ? "80" : "443");
    words.push("--server", `${plain ? `${base.protocol}//` : ""}${base.hostname}:${port}`);
    words.push("--dataset", word(dataset));
  }
  const lines = eventsOf(question).map((event) => `${JSON.stringify(event)}\n`);
  return `dpledger ${words.join(" ")} --events - <<'END'\n${lines.join("")}END\n`;
}
const curl = ({ method, request }: Question, base: string) =>
  `curl --json ${word(JSON.stringify(request))} ${word(`${base}/dpledger.v1.${method}`)}\n`;

/** By the name of the place to ask from. `base`: the server's address. */
export const planCode = (kind: string, question: Question, base: string) => ({
  ...(kind === "poisson" && !question.request.subject?.dataset && { Python: python(question) }),
  "Command line": commandLine(question, new URL(base)),
  curl: curl(question, base),
});
