// What may still be done: the noise for a target, or the cost of what is planned, and of choosing
// the best of several runs. Its inputs stand in the address; nothing is recorded.
import { useState } from "preact/hooks";
import type {
  AccountingOptions,
  CalibrateRequest,
  ComputeBudgetResponse,
  Event,
} from "../api/types";
import { useCall } from "../api/use_call";
import { Dialog } from "../parts/dialog";
import { EpsilonBlock, Number_ } from "../parts/epsilon";
import { Button, Failed, Loading } from "../parts/parts";
import { urlOf } from "../prefix";
import { place, setQuery } from "../router";
import { fullName, shortName } from "../text/names";
import { grouped, number, textNear, textUp, typed, typedWhole } from "../text/numbers";
import { planCode } from "./plan_code";

const FIELDS = {
  solve: "noise",
  epsilon: "1",
  delta: "1e-5",
  sampling: "0.01",
  steps: "1000",
  noise: "1",
  trials: "1",
  budget: "",
};
type Inputs = typeof FIELDS;
const OPTIONS: AccountingOptions = { adjacency: "ADD_OR_REMOVE_ONE", parameters: "FIXED" };

// What is wrong with a field's text: "" if nothing. Numbers are taken with a decimal comma.
const NUMBERS = {
  epsilon: { holds: (x: number) => x > 0, must: "a number above 0, as 1 or 0,5" },
  noise: { holds: (x: number) => x > 0, must: "a number above 0, as 1 or 0,5" },
  delta: { holds: (x: number) => x > 0 && x < 1, must: "between 0 and 1, as 1e-5 or 0,00001" },
  sampling: { holds: (x: number) => x > 0 && x <= 1, must: "above 0 and at most 1, as 0,01" },
  trials: { holds: (x: number) => x >= 1, must: "at least 1" },
};
const isNumber = (name: string): name is keyof typeof NUMBERS => name in NUMBERS;
function read(name: string, text: string): { value: string; wrong: string } {
  if (name === "steps") {
    const value = typedWhole(text) ?? "";
    const wrong = Number(value) > 0 ? "" : "a whole number, without a comma or point: 1000";
    return { value, wrong };
  }
  if (!isNumber(name)) return { value: text.trim(), wrong: "" };
  const value = typed(text) ?? "";
  const { holds, must } = NUMBERS[name];
  return { value, wrong: value && holds(Number(value)) ? "" : must };
}

// open=plan:NAME=VALUE&… asks; open=plan does not yet.
function given(): { inputs: Inputs; asked: boolean } {
  const text = (place.value.query.get("open") ?? "").replace(/^plan:?/, "");
  const known = [...new URLSearchParams(text)].filter(([name]) => name in FIELDS);
  const inputs: Inputs = { ...FIELDS, ...Object.fromEntries(known) };
  const wrong = wrongOf(inputs).length > 0; // an address that somebody wrote
  return { inputs: readAll(inputs), asked: text !== "" && !wrong };
}
// Of the fields that count for what is looked for.
const counts = ({ solve }: Inputs, name: string) =>
  name !== (solve === "noise" ? "noise" : "epsilon");
const wrongOf = (inputs: Inputs) =>
  Object.entries(inputs).filter(([name, text]) => counts(inputs, name) && read(name, text).wrong);
const readAll = (inputs: Inputs) =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, text]) => [name, read(name, text).value || text]),
  ) as Inputs;

/** Whether a run fits into what is left of a budget. */
function Fits({ of: answer }: { of: ComputeBudgetResponse }) {
  const { budget, spending = {}, fits = false, roundsLeft } = answer;
  return (
    <>
      <h3>In the budget {shortName(budget?.name)}</h3>
      <p>
        <strong>{fits ? "It fits." : "It does not fit."}</strong> {textUp(number(spending.spent))}{" "}
        of {textNear(number(spending.bound))} is granted ({spending.filter}), and{" "}
        {textUp(number(answer.spentWithPlan))} would be with this run.{" "}
        {budget?.state === "SEALED"
          ? "The budget is sealed: nothing more is granted."
          : roundsLeft !== undefined && `${grouped(number(roundsLeft))} such rounds fit.`}
      </p>
    </>
  );
}

// The question as code, to be copied.
function Code({ of: code }: { of: Record<string, string> }) {
  const [shown, setShown] = useState("Python");
  const [copied, setCopied] = useState("");
  const text = code[shown];
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => setCopied(""),
    );
  return (
    <>
      <h3>Ask this elsewhere</h3>
      <p class="actions">
        {Object.keys(code).map((name) => (
          <Button key={name} aria-pressed={name === shown} onClick={() => setShown(name)}>
            {name}
          </Button>
        ))}
        {isSecureContext && (
          <Button class="link" onClick={copy}>
            {copied === text ? "Copied" : "Copy"}
          </Button>
        )}
      </p>
      <pre class="code" tabIndex={0} aria-label={`The question as ${shown}`}>
        {text}
      </pre>
    </>
  );
}

export function Plan() {
  const { inputs, asked } = given();
  const [draft, setDraft] = useState(inputs);
  const [tried, setTried] = useState(!asked && place.value.query.get("open") !== "plan");
  const [delta, samplingProbability] = [Number(inputs.delta), Number(inputs.sampling)];
  const { steps } = inputs;
  const solving = inputs.solve === "noise";
  const calibrate: CalibrateRequest | undefined =
    asked && solving
      ? {
          epsilon: Number(inputs.epsilon),
          delta,
          solve: "NOISE_MULTIPLIER",
          samplingProbability,
          steps,
          options: OPTIONS,
        }
      : undefined;
  const calibrated = useCall("AccountingService/Calibrate", calibrate);
  const found = calibrated.data && number(calibrated.data.noiseMultiplier);
  const noise = solving ? found : Number(inputs.noise);
  const event: Event = {
    rounds: {
      scheme: { poisson: { probability: samplingProbability } },
      queries: [{ l2NormBound: 1, noiseStddev: noise }],
      count: steps,
    },
  };
  const question =
    asked && noise ? { subject: { events: [event] }, delta, options: OPTIONS } : undefined;
  const cost = useCall("AccountingService/ComputeEpsilon", question);
  const trials = { negativeBinomial: { eta: 1, mean: Number(inputs.trials) } };
  const search = question && trials.negativeBinomial.mean > 1 ? { ...question, trials } : undefined;
  const tuned = useCall("AccountingService/ComputeTuningCost", search);
  const within = asked && noise && inputs.budget;
  const fits = useCall(
    "AccountingService/ComputeBudget",
    within ? { budget: fullName(inputs.budget), plan: [event] } : undefined,
  );
  const terms = {
    delta,
    unit: ["record"],
    adjacency: OPTIONS.adjacency,
    regime: "FIXED_PLAN",
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (wrongOf(draft).length === 0)
      setQuery({ open: `plan:${new URLSearchParams(readAll(draft))}` });
  };
  const field = (name: keyof Inputs, label: string) => {
    const wrong = tried && read(name, draft[name]).wrong;
    return (
      <label class="field">
        {label}
        <input
          value={draft[name]}
          inputMode={name === "budget" ? "text" : "decimal"}
          aria-invalid={!!wrong}
          onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
        />
        {wrong && (
          <span class="warn-text" role="alert">
            It must be {wrong}.
          </span>
        )}
      </label>
    );
  };
  return (
    <Dialog drawer title="Plan a run" close={() => setQuery({ open: "" })}>
      <p class="muted">Rounds of a Gaussian sum over Poisson samples. Nothing is recorded.</p>
      <form onSubmit={submit}>
        <div class="plan-form">
          <label class="field">
            Look for
            <select
              value={draft.solve}
              onChange={(event) => setDraft({ ...draft, solve: event.currentTarget.value })}
            >
              <option value="noise">noise for a target</option>
              <option value="cost">cost of a noise</option>
            </select>
          </label>
          {draft.solve === "noise"
            ? field("epsilon", "Target ε")
            : field("noise", "Noise multiplier")}
          {field("delta", "δ")}
          {field("sampling", "Sampling probability")}
          {field("steps", "Rounds")}
          {field("trials", "Runs tried, on average")}
          {field("budget", "Budget, if any")}
        </div>
        <Button class="button primary" type="submit">
          Work it out
        </Button>
      </form>
      {asked && (
        <div class="section">
          {calibrated.error && <Failed error={calibrated.error} what="the noise" />}
          {solving && found !== undefined && (
            <p class="epsilon-line">
              <span class="epsilon answer">
                noise multiplier <Number_ of={found} round="up" digits={5} />
              </span>
            </p>
          )}
          {cost.error && <Failed error={cost.error} what="the cost" />}
          {!cost.data && !cost.error && !calibrated.error && <Loading what="the answer" />}
          {cost.data?.epsilon && (
            <EpsilonBlock epsilon={cost.data.epsilon} details={cost.data.details} terms={terms}>
              <p class="muted">of one run of {grouped(Math.round(Number(steps)))} rounds</p>
            </EpsilonBlock>
          )}
          {cost.data && (calibrate || question) && (
            <Code
              of={planCode(
                inputs,
                location.origin + urlOf(""),
                calibrate
                  ? { method: "AccountingService/Calibrate", request: calibrate }
                  : { method: "AccountingService/ComputeEpsilon", request: question! },
              )}
            />
          )}
          {fits.error && <Failed error={fits.error} what="what fits into the budget" />}
          {fits.data && <Fits of={fits.data} />}
          {tuned.error && <Failed error={tuned.error} what="the cost of tuning" />}
          {tuned.data?.epsilon && (
            <>
              <h3>Releasing the best of about {inputs.trials} such runs</h3>
              <EpsilonBlock
                epsilon={tuned.data.epsilon}
                details={tuned.data.details}
                terms={terms}
              />
            </>
          )}
        </div>
      )}
    </Dialog>
  );
}
