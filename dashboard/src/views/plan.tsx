// What may still be done: the number that meets a target, or the cost of what is planned, alone and
// with what a data set has been through. Its inputs stand in the address; nothing is recorded.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type {
  Adjacency,
  CalibrateRequest,
  CalibrateResponse,
  ComputeEpsilonRequest,
  ComputeEpsilonResponse,
  Event,
} from "../api/types";
import { signedIn } from "../api/client";
import { useFound } from "../api/find";
import { useCall } from "../api/use_call";
import { Chooser } from "../parts/chooser";
import { Dialog } from "../parts/dialog";
import { EpsilonBlock, Number_, termsOf } from "../parts/epsilon";
import { Button, Copy, Failed, Loading } from "../parts/parts";
import { urlOf } from "../prefix";
import { place, setQuery } from "../router";
import { fullName, Name } from "../text/names";
import { grouped, number, typed } from "../text/numbers";
import { adjacencyWords, readBlocks } from "../text/words";
import { planCode, type Question } from "./plan_code";
import { Fits } from "./plan_fits";
import {
  fieldsOf,
  KINDS,
  labelOf,
  OTHER,
  planned,
  readField,
  readOther,
  withFound,
  type Planned,
} from "./plan_kinds";

// Those of every plan; the numbers of its kind stand beside them, by their paths.
const FIELDS = {
  kind: "poisson",
  find: "events[0].rounds.queries[0].noiseStddev", // "": the cost
  epsilon: "1",
  delta: "1e-5",
  adjacency: "ADD_OR_REMOVE_ONE",
  other: "",
  trials: "1",
  dataset: "",
  budget: "",
  blocks: "",
};
type Inputs = typeof FIELDS & Record<string, string>;
const ADJACENCIES: Adjacency[] = ["ADD_OR_REMOVE_ONE", "REPLACE_ONE", "ZERO_OUT"];

// Numbers are taken with a decimal comma.
const NUMBERS = {
  epsilon: { holds: (x: number) => x > 0, must: "a number above 0, as 1 or 0,5" },
  delta: { holds: (x: number) => x > 0 && x < 1, must: "between 0 and 1, as 1e-5 or 0,00001" },
  trials: { holds: (x: number) => x >= 1, must: "at least 1" },
};
const isNumber = (name: string): name is keyof typeof NUMBERS => name in NUMBERS;
// A field's text as programs write it, and what is wrong with it: "" if nothing.
function read(inputs: Inputs, name: string): { value: string; wrong: string } {
  const text = inputs[name];
  if (name === "other" && inputs.kind === OTHER)
    return { value: text, wrong: readOther(text).wrong };
  const field = fieldsOf(inputs.kind).find(({ path }) => path === name);
  if (field) return readField(field, text);
  if (name === "blocks" && inputs.budget.trim())
    return { value: text.trim(), wrong: readBlocks(text) ? "" : "ascending, as 1-12, 14" };
  if (!isNumber(name)) return { value: text.trim(), wrong: "" };
  const value = typed(text) ?? "";
  const { holds, must } = NUMBERS[name];
  return { value, wrong: value && holds(Number(value)) ? "" : must };
}
const plannedOf = (inputs: Inputs): Planned => {
  if (inputs.kind === OTHER) return readOther(inputs.other);
  const { kind, find, ...rest } = inputs;
  return planned(kind, rest, find || undefined);
};
// Of the fields that count for what is looked for.
const wrongOf = (inputs: Inputs) =>
  Object.keys(inputs).filter(
    (name) =>
      name !== inputs.find &&
      (name !== "epsilon" || plannedOf(inputs).hole) &&
      read(inputs, name).wrong,
  );
const readAll = (inputs: Inputs) =>
  Object.fromEntries(
    Object.keys(inputs).map((name) => [name, read(inputs, name).value || inputs[name]]),
  ) as Inputs;
// With the numbers that a plan of this kind begins with where none are given.
function ofKind(kind: string, given: Record<string, string>): Inputs {
  const fields = fieldsOf(kind);
  const numbers = Object.fromEntries(fields.map(({ path, start }) => [path, start]));
  const known = Object.entries(given).filter(([name]) => name in FIELDS || name in numbers);
  const inputs: Inputs = { ...FIELDS, ...numbers, ...Object.fromEntries(known), kind };
  if (inputs.find && !(inputs.find in numbers)) inputs.find = "";
  return inputs;
}

// open=plan:NAME=VALUE&… asks; open=plan does not yet.
function given(): { inputs: Inputs; asked: boolean } {
  const text = (place.value.query.get("open") ?? "").replace(/^plan:?/, "");
  const { kind = FIELDS.kind, ...rest } = Object.fromEntries(new URLSearchParams(text));
  const inputs = ofKind(kind in KINDS ? kind : FIELDS.kind, rest);
  const wrong = wrongOf(inputs).length > 0; // an address that somebody wrote
  return { inputs: wrong ? inputs : readAll(inputs), asked: text !== "" && !wrong };
}

// The question as code, to be copied.
function Code({ of: code }: { of: Record<string, string> }) {
  const [chosen, setShown] = useState("");
  const shown = chosen in code ? chosen : Object.keys(code)[0];
  const text = code[shown];
  return (
    <>
      <h3>Ask this elsewhere</h3>
      <p class="actions">
        {Object.keys(code).map((name) => (
          <Button key={name} aria-pressed={name === shown} onClick={() => setShown(name)}>
            {name}
          </Button>
        ))}
        <Copy of={text} />
      </p>
      <pre class="code" tabIndex={0} aria-label={`The question as ${shown}`}>
        {text}
      </pre>
    </>
  );
}

// What was found, rounded away from what would cost more than the target.
function Found({ label, of: answer }: { label: string; of: CalibrateResponse }) {
  const value = number(answer.value);
  const round = value > number(answer.optimum?.lower) ? "up" : "down";
  return (
    <p class="epsilon-line">
      <span class="epsilon answer" title={String(value)}>
        {label}{" "}
        {Number.isInteger(value) ? grouped(value) : <Number_ of={value} round={round} digits={5} />}
      </span>
    </p>
  );
}

// What is asked for these inputs; the costs once the events have all their numbers.
function questionsOf({ dataset, budget, blocks, ...inputs }: Inputs, plan: Planned) {
  const delta = Number(inputs.delta);
  const options = { adjacency: inputs.adjacency as Adjacency, parameters: "FIXED" as const };
  const target = { epsilon: Number(inputs.epsilon), delta, events: plan.events, hole: plan.hole };
  // Of a data set, as its ledgers declare it.
  const about = dataset ? { subject: { dataset } } : { options };
  const calibrate: CalibrateRequest | undefined = plan.hole ? { ...target, ...about } : undefined;
  const costs = (events: Event[]) => ({
    alone: (adjacency = options.adjacency) => ({
      subject: { events },
      delta,
      options: { ...options, adjacency },
    }),
    before: dataset ? { subject: { dataset }, delta } : undefined,
    total: dataset ? { subject: { dataset, events }, delta } : undefined,
    fits: budget
      ? { budget: fullName(budget), plan: events, blocks: readBlocks(blocks) }
      : undefined,
  });
  return { calibrate, costs };
}

interface CostProps {
  of?: ComputeEpsilonResponse;
  delta: number;
  children: ComponentChildren;
}
function Cost({ of: answer, delta, children }: CostProps) {
  if (!answer?.epsilon) return null;
  const { epsilon, details } = answer;
  return (
    <>
      <h3>{children}</h3>
      <EpsilonBlock epsilon={epsilon} details={details} terms={termsOf(details, delta)} />
    </>
  );
}
interface AskedProps {
  of?: ComputeEpsilonRequest;
  what: string;
  children: ComponentChildren;
}
function Asked({ of: question, what, children }: AskedProps) {
  const { data, error } = useCall("AccountingService/ComputeEpsilon", question);
  if (!question) return null;
  if (error) return <Failed error={error} what={what} />;
  if (!data) return <Loading what={what} />;
  return (
    <Cost of={data} delta={number(question.delta)}>
      {children}
    </Cost>
  );
}

function Answer({ inputs, delta = Number(inputs.delta) }: { inputs: Inputs; delta?: number }) {
  const plan = plannedOf(inputs);
  const { calibrate, costs } = questionsOf(inputs, plan);
  const calibrated = useCall("AccountingService/Calibrate", calibrate);
  const found = calibrated.data;
  const solved = plan.hole && found ? withFound(plan, number(found.value)) : undefined;
  const events = plan.hole ? solved : plan.events;
  const of = events && costs(events);
  const trials = { negativeBinomial: { eta: 1, mean: Number(inputs.trials) } };
  const total = useCall("AccountingService/ComputeEpsilon", of?.total);
  const adjacency = of?.total ? total.data?.details?.adjacency : (inputs.adjacency as Adjacency);
  const alone = adjacency && of?.alone(adjacency);
  const tuning = of && Number(inputs.trials) > 1 && alone ? { ...alone, trials } : undefined;
  const tuned = useCall("AccountingService/ComputeTuningCost", tuning);
  const fits = useCall("AccountingService/ComputeBudget", of?.fits);
  const questions: Question[] = [];
  if (calibrate) questions.push({ method: "AccountingService/Calibrate", request: calibrate });
  else if (of)
    questions.push({ method: "AccountingService/ComputeEpsilon", request: of.total ?? of.alone() });
  if (tuning) questions.push({ method: "AccountingService/ComputeTuningCost", request: tuning });
  const from = { base: location.origin + urlOf(""), callers: signedIn.value };
  const dataset = <Name of={inputs.dataset} />;
  return (
    <div class="section">
      {calibrated.error && <Failed error={calibrated.error} what="the number" />}
      {calibrate && !found && !calibrated.error && <Loading what="the number" />}
      {found && <Found label={labelOf(plan.hole ?? "")} of={found} />}
      {total.error && <Failed error={total.error} what="the cost with the data set" />}
      {of?.total && !total.data && !total.error && <Loading what="the cost with the data set" />}
      <Cost of={total.data} delta={delta}>
        {dataset} with this run
      </Cost>
      {total.data && (
        <p class="muted">
          If its plan depends on no output of the others (<code>plan_independent</code>).
        </p>
      )}
      <Asked of={of?.before} what="the cost so far">
        {dataset} so far
      </Asked>
      <Asked of={alone || undefined} what="the cost">
        This run alone
      </Asked>
      {questions.length > 0 && <Code of={planCode(inputs.kind, questions, from)} />}
      {fits.error && <Failed error={fits.error} what="what fits into the budget" />}
      {fits.data && <Fits of={fits.data} />}
      {tuned.error && <Failed error={tuned.error} what="the cost of tuning" />}
      <Cost of={tuned.data} delta={delta}>
        Releasing the best of about {inputs.trials} such runs
      </Cost>
    </div>
  );
}

// A budget's neighbours are those that it declares.
function AnswerBy({ inputs }: { inputs: Inputs }) {
  const asked = inputs.budget && { name: fullName(inputs.budget) };
  const { data, error } = useCall("LedgerService/GetLedger", asked || undefined);
  if (error) return <Failed error={error} what="the budget" />;
  if (asked && !data) return <Loading what="the budget" />;
  const adjacency = data?.declaration?.adjacency ?? inputs.adjacency;
  return <Answer inputs={{ ...inputs, adjacency }} />;
}

function Dataset({ value, change }: { value: string; change: (text: string) => void }) {
  const { datasets } = useFound(value).found;
  return (
    <Chooser label="Data set, if any" value={value} change={change}>
      {datasets.map((name) => (
        <option key={name} value={name} />
      ))}
    </Chooser>
  );
}

export function Plan() {
  const { inputs, asked } = given();
  const [draft, setDraft] = useState(inputs);
  const [tried, setTried] = useState(!asked && place.value.query.get("open") !== "plan");
  const change = (name: string) => (text: string) => setDraft({ ...draft, [name]: text });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTried(true);
    if (wrongOf(draft).length === 0)
      setQuery({ open: `plan:${new URLSearchParams(readAll(draft))}` });
  };
  const labelled = (name: string, label: string, control: ComponentChildren) => {
    const wrong = tried && read(draft, name).wrong;
    return (
      <label class={name === "other" || name === "kind" ? "field wide-field" : "field"} key={name}>
        {label}
        {control}
        {wrong && (
          <span class="warn-text" role="alert">
            It must be {wrong}.
          </span>
        )}
      </label>
    );
  };
  const field = (name: string, label: string) =>
    labelled(
      name,
      label,
      <input
        value={draft[name]}
        inputMode={name === "budget" || name === "blocks" ? "text" : "decimal"}
        aria-invalid={tried && !!read(draft, name).wrong}
        onInput={(event) => change(name)(event.currentTarget.value)}
      />,
    );
  const choice = (name: string, label: string, options: [string, string][]) =>
    labelled(
      name,
      label,
      <select
        value={draft[name]}
        onChange={({ currentTarget: { value } }) =>
          setDraft(name === "kind" ? ofKind(value, draft) : { ...draft, [name]: value })
        }
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>,
    );
  const fields = fieldsOf(draft.kind);
  const isOther = draft.kind === OTHER;
  const kinds = Object.entries(KINDS).map(([name, { title }]): [string, string] => [name, title]);
  const sought = fields
    .filter((one) => one.sought)
    .map(({ path, label }): [string, string] => [path, label]);
  return (
    <Dialog drawer title="Plan a run" close={() => setQuery({ open: "" })}>
      <p class="muted">What it would cost, or what keeps it to a target. Nothing is recorded.</p>
      <form onSubmit={submit}>
        <div class="plan-form">
          {choice("kind", "What is planned", kinds)}
          {!isOther && choice("find", "Look for", [...sought, ["", "its cost"]])}
          {plannedOf(draft).hole && field("epsilon", "Target ε")}
          {field("delta", "δ")}
          {isOther &&
            labelled(
              "other",
              'Events, one a line, "?" in place of what is looked for',
              <textarea
                rows={5}
                spellcheck={false}
                value={draft.other}
                placeholder='{"mechanism": {"gaussian": {"noiseMultiplier": "?"}}}'
                onInput={(event) => change("other")(event.currentTarget.value)}
              />,
            )}
          {fields.map(({ path, label }) => path !== draft.find && field(path, label))}
          {!draft.dataset.trim() &&
            !draft.budget.trim() &&
            choice(
              "adjacency",
              "Neighbours",
              ADJACENCIES.map((name) => [name, adjacencyWords(name)]),
            )}
          <Dataset value={draft.dataset} change={change("dataset")} />
          {field("trials", "Runs tried, on average")}
          {field("budget", "Budget, if any")}
          {draft.budget.trim() && field("blocks", "Its blocks, if not all")}
        </div>
        <Button class="button primary" type="submit">
          Work it out
        </Button>
      </form>
      {asked && <AnswerBy key={JSON.stringify(inputs)} inputs={inputs} />}
    </Dialog>
  );
}
