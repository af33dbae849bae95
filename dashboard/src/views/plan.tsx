// What may still be done: the noise for a target, or the cost of what is planned, and of choosing the best of several
// runs. Its inputs stand in the address; nothing is recorded.
import { useState } from "preact/hooks";
import type { CalibrateRequest, ComputeEpsilonRequest, ComputeTuningCostRequest, Event } from "../api/types";
import { useCall } from "../api/use_call";
import { Dialog } from "../parts/dialog";
import { EpsilonBlock, Number_ } from "../parts/epsilon";
import { Failed, Loading } from "../parts/parts";
import { place, setQuery } from "../router";
import { double, grouped } from "../text/numbers";

const FIELDS = { solve: "noise", epsilon: "1", delta: "1e-5", sampling: "0.01", steps: "1000", noise: "1", trials: "1" };
type Inputs = typeof FIELDS;
const read = (): Inputs => ({ ...FIELDS, ...Object.fromEntries([...new URLSearchParams((place.value.query.get("open") ?? "").replace(/^plan:?/, ""))].filter(([name]) => name in FIELDS)) });
const asked = () => (place.value.query.get("open") ?? "").length > "plan:".length;

export function Plan() {
  const inputs = read();
  const [draft, setDraft] = useState(inputs);
  const close = () => setQuery({ open: "" });
  const number = (name: keyof Inputs) => Number(inputs[name]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setQuery({ open: `plan:${new URLSearchParams(draft)}` });
  };
  const solving = inputs.solve === "noise";
  const options = { adjacency: "ADD_OR_REMOVE_ONE" as const, parameters: "FIXED" as const };
  const calibrate: CalibrateRequest | undefined = asked() && solving ? { epsilon: number("epsilon"), delta: number("delta"), solve: "NOISE_MULTIPLIER", samplingProbability: number("sampling"), steps: inputs.steps, options } : undefined;
  const calibrated = useCall("AccountingService/Calibrate", calibrate);
  const noise = solving ? calibrated.data && double(calibrated.data.noiseMultiplier) : number("noise");
  const event: Event | undefined = asked() && noise ? { rounds: { scheme: { poisson: { probability: number("sampling") } }, queries: [{ l2NormBound: 1, noiseStddev: noise }], count: inputs.steps } } : undefined;
  const question: ComputeEpsilonRequest | undefined = event && { subject: { events: [event] }, delta: number("delta"), options };
  const cost = useCall("AccountingService/ComputeEpsilon", question);
  const tuning: ComputeTuningCostRequest | undefined = event && number("trials") > 1 ? { subject: { events: [event] }, delta: number("delta"), options, trials: { negativeBinomial: { eta: 1, mean: number("trials") } } } : undefined;
  const tuned = useCall("AccountingService/ComputeTuningCost", tuning);
  const field = (name: keyof Inputs, label: string) => <label class="field">{label}<input value={draft[name]} inputMode="decimal" required onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value.trim() })} /></label>;
  const terms = { delta: number("delta"), unit: ["record"], adjacency: "ADD_OR_REMOVE_ONE", regime: "FIXED_PLAN" };
  return <Dialog drawer title="Plan a run" close={close}>
    <p class="muted">Rounds of a Gaussian sum over Poisson samples. Nothing is recorded.</p>
    <form onSubmit={submit}><div class="plan-form">
      <label class="field">Look for<select value={draft.solve} onChange={(event) => setDraft({ ...draft, solve: event.currentTarget.value })}><option value="noise">noise for a target</option><option value="cost">cost of a noise</option></select></label>
      {draft.solve === "noise" ? field("epsilon", "Target ε") : field("noise", "Noise multiplier")}{field("delta", "δ")}{field("sampling", "Sampling probability")}{field("steps", "Rounds")}{field("trials", "Runs tried, on average")}</div>
      <button class="button primary" type="submit">Work it out</button></form>
    {asked() && <div class="section">
      {calibrated.error && <Failed error={calibrated.error} what="the noise" />}
      {solving && calibrated.data && <p class="epsilon-line"><span class="epsilon answer">noise multiplier <Number_ of={noise!} round="up" digits={5} /></span></p>}
      {cost.error && <Failed error={cost.error} what="the cost" />}
      {!cost.data && !cost.error && !calibrated.error && <Loading what="the answer" />}
      {cost.data?.epsilon && <EpsilonBlock epsilon={cost.data.epsilon} details={cost.data.details} terms={terms}><p class="muted">of one run of {grouped(BigInt(Math.round(number("steps"))))} rounds</p></EpsilonBlock>}
      {tuned.error && <Failed error={tuned.error} what="the cost of tuning" />}
      {tuned.data?.epsilon && <><h3>Releasing the best of about {inputs.trials} such runs</h3><EpsilonBlock epsilon={tuned.data.epsilon} details={tuned.data.details} terms={terms} /></>}
    </div>}
  </Dialog>;
}
