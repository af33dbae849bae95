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
import { place, setQuery } from "../router";
import { fullName, shortName } from "../text/names";
import { grouped, number, textNear, textUp } from "../text/numbers";

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

// open=plan:NAME=VALUE&… asks; open=plan does not yet.
function given(): { inputs: Inputs; asked: boolean } {
  const text = (place.value.query.get("open") ?? "").replace(/^plan:?/, "");
  const known = [...new URLSearchParams(text)].filter(([name]) => name in FIELDS);
  return { inputs: { ...FIELDS, ...Object.fromEntries(known) }, asked: text !== "" };
}

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

export function Plan() {
  const { inputs, asked } = given();
  const [draft, setDraft] = useState(inputs);
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
    setQuery({ open: `plan:${new URLSearchParams(draft)}` });
  };
  const field = (name: keyof Inputs, label: string, optional = false) => (
    <label class="field">
      {label}
      <input
        value={draft[name]}
        inputMode={optional ? "text" : "decimal"}
        required={!optional}
        onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value.trim() })}
      />
    </label>
  );
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
          {field("budget", "Budget, if any", true)}
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
