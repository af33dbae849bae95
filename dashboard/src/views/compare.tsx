// What differs between two to ten ledgers: only the rows that do, unless all are asked for.
import { useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { ComputeEpsilonResponse, Ledger, LedgerSummary } from "../api/types";
import { useFound } from "../api/find";
import { useTask } from "../api/use_call";
import { Chart } from "../chart/chart";
import { isOfDelta } from "../parts/doubts";
import { Ask } from "../parts/ask";
import { Chooser } from "../parts/chooser";
import { Dialog } from "../parts/dialog";
import { downloadCsv } from "../parts/download";
import { EpsilonCell, epsilonText, termsOf, upper } from "../parts/epsilon";
import { A, Button, Failed, Loading } from "../parts/parts";
import { generation } from "../live";
import { askedDelta, ledgerAddress, setQuery } from "../router";
import { fullName, Name, Names, shortName, visible } from "../text/names";
import { grouped, number, textNear } from "../text/numbers";
import {
  adjacencyWords,
  filterWords,
  methodWords,
  parametersWords,
  policyWords,
  regimeShort,
  unitsOf,
} from "../text/words";
import { CurveNote, useCurve } from "./curve";
import { givenOptions } from "./requests";

interface Found {
  name: string;
  ledger?: Ledger;
  summary?: LedgerSummary;
  answer?: ComputeEpsilonResponse;
  error?: CallError;
}
const MOST = 10;
const FEW = 4; // have room beside each other in a drawer as wide as others are

async function find(name: string, delta: number, signal: AbortSignal): Promise<Found> {
  const found: Found = { name };
  try {
    found.ledger = await call("LedgerService/GetLedger", { name }, signal);
    const one = { parent: "projects/-", filter: `name = ${name}`, pageSize: 1 };
    found.summary = (await call("LedgerService/ListLedgers", one, signal)).summaries?.[0];
    const question = { subject: { ledgers: [name] }, delta, options: givenOptions() };
    found.answer = await call("AccountingService/ComputeEpsilon", question, signal);
  } catch (error) {
    found.error = error as CallError;
  }
  return found;
}

const NONE = "–";
// What speaks against a number, in words.
function doubtsOf({ summary, answer }: Found): Record<string, string> {
  const { ledgers: [of] = [], warnings = [] } = answer?.details ?? {};
  const unwarned = number(answer?.details?.population) ? "no warning" : "n is not stated";
  const counted = (count: string | number | undefined) => (number(count) ? grouped(count) : "none");
  return {
    Corrections: summary || of ? counted(summary?.corrections ?? of?.corrections?.length) : NONE,
    "Refused batches": summary ? counted(summary.conflicts) : NONE,
    "Releases that may be missing": of ? counted(of.missingCount) : NONE,
    "δ against 1/n": answer ? visible(warnings.find(isOfDelta) ?? unwarned) : NONE,
  };
}
// The rows, in words: of a ledger if there is one, and of the answer about it.
const rowsOf = (found: Found): Record<string, string> => {
  const { ledger, answer } = found;
  const { declaration = {}, size, state = "" } = ledger ?? {};
  const { details = {} } = answer ?? {};
  const planned = declaration.plannedRounds;
  const declared = {
    "Data set": visible(declaration.dataset),
    "One record is": `one ${visible(declaration.unitOfPrivacy)}`,
    Neighbours: adjacencyWords(declaration.adjacency),
    Parameters: parametersWords(declaration.parameters),
    Filter: filterWords(declaration.filter),
    Released: visible(declaration.released || "not stated"),
    "Noise released": policyWords(declaration),
    "Plan independent": declaration.planIndependent ? "declared" : "not declared",
    "Rounds planned": planned ? grouped(planned) : "not stated",
    "Rounds recorded": answer ? grouped(details.ledgers?.[0]?.rounds) : NONE,
    Entries: grouped(size),
    State: state.toLowerCase(),
    ...doubtsOf(found),
    Method: answer ? methodWords(details.method) : NONE,
    Schemes: (details.schemes ?? []).join(", ") || NONE,
  };
  if (ledger) return declared;
  return Object.fromEntries(Object.keys(declared).map((label) => [label, NONE]));
};

function Cost({ of: { ledger, answer, error }, delta }: { of: Found; delta: number }) {
  if (!ledger && error?.code === "not_found")
    return <span class="bad-text">There is no such ledger.</span>;
  if (!answer?.epsilon) {
    const why = visible(error?.message);
    return (
      <span class="bad-text why" title={why}>
        {why}
      </span>
    );
  }
  const terms = termsOf(answer.details, delta);
  return <EpsilonCell epsilon={answer.epsilon} terms={terms} />;
}

// Of ledgers that may be compared.
function Curves({ of: found, delta }: { of: Found[]; delta: number }) {
  const curveOf = ({ name, ledger }: Found) =>
    useCurve(name, number(ledger?.size), delta, "BEST", true);
  const all = found.map(curveOf);
  // Recorded at once, a ledger still has its line: beside others, its end is what is compared.
  const curves = all.flatMap(({ points }, i) => (points.length ? [{ points, i }] : []));
  if (curves.length < 2) return null;
  const { details } = found[0].answer!;
  const terms = `${adjacencyWords(details?.adjacency)} ${visible(unitsOf(details)[0] ?? "record")}`;
  const series = curves.map(({ points, i }) => {
    const end = epsilonText(points.at(-1)!.upper);
    const label = shortName(found[i].name);
    const second = { second: i > 0, turn: Math.max(0, i - 1) };
    // Of more than two the ends may lie one on the other: the legend has them.
    return found.length > 2
      ? { label: `${label}: ${end}`, points, ...second }
      : { label, points, ...second, end };
  });
  const csv = curves.flatMap(({ points, i }) =>
    points.map((point) => ({
      ledger: shortName(found[i].name),
      entries: point.size,
      rounds: point.x,
      epsilon_lower: point.lower ?? 0,
      epsilon_upper: point.upper,
      delta,
    })),
  );
  return (
    <>
      <Chart
        title="Cost over what was recorded"
        xTitle="rounds or entries recorded"
        yTitle={`ε at δ = ${textNear(delta)}`}
        qualifiers={`${terms}, ${regimeShort(details?.regime)}`}
        series={series}
        file="comparison"
        csv={csv}
      />
      <CurveNote />
    </>
  );
}

function Add({ add }: { add: (name: string) => void }) {
  const [text, setText] = useState("");
  const { ledgers } = useFound(text).found;
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) add(fullName(text.trim()));
    setText("");
  };
  return (
    <form onSubmit={submit}>
      <Chooser label="Add a ledger" value={text} change={setText}>
        {ledgers.map((name) => (
          <option key={name} value={shortName(name)} />
        ))}
      </Chooser>
      <Button type="submit">Add</Button>
    </form>
  );
}

export function Compare({ names }: { names: string }) {
  const [all, setAll] = useState(false); // rows, the same ones too
  const delta = askedDelta();
  const asked = names.split(",").filter(Boolean).map(fullName);
  const chosen = asked.slice(0, MOST);
  const [lost, setLost] = useState(false);
  const method = givenOptions()?.method;
  // Asked again, where the server could not be reached, when it is heard of.
  const { data: found } = useTask(
    async (signal) => {
      const all = await Promise.all(chosen.map((name) => find(name, delta, signal)));
      setLost(all.some(({ error }) => error?.code === "unavailable"));
      return all;
    },
    [names, delta, method, lost && generation.value],
  );
  const set = (list: string[]) => setQuery({ open: `compare:${list.map(shortName).join(",")}` });
  const answered = (found ?? []).filter((one) => one.answer);
  const termsIn = ({ ledger, answer }: Found) =>
    `${ledger?.declaration?.unitOfPrivacy} ${answer?.details?.adjacency}`;
  const terms = new Set(answered.map(termsIn));
  const facts = (found ?? []).map(rowsOf);
  const rows = Object.keys(facts[0] ?? {}).map((label) => {
    const values = facts.map((one) => one[label]);
    return { label, values, differs: new Set(values).size > 1 };
  });
  const alike = rows.filter((row) => !row.differs).length;
  const csv = () => {
    const line = (what: string, values: (string | number)[]) => ({
      what,
      ...Object.fromEntries(values.map((value, i) => [shortName(found![i].name), value])),
    });
    downloadCsv("comparison", [
      line(
        "epsilon_upper",
        found!.map(({ answer }) => (answer?.epsilon ? upper(answer.epsilon) : "")),
      ),
      line(
        "delta",
        found!.map(() => delta),
      ),
      ...rows.map((row) => line(row.label, row.values)),
    ]);
  };
  return (
    <Dialog drawer title={`Compare ${chosen.length} ledgers`} close={() => setQuery({ open: "" })}>
      <Ask shown={delta} />
      {asked.length > MOST && (
        <p class="bar-note">
          The address names {asked.length} ledgers. The first {MOST} are compared; not shown:{" "}
          <Names of={asked.slice(MOST).map(shortName)} />.
        </p>
      )}
      {!found && <Loading what="the ledgers" />}
      {terms.size > 1 && (
        <p class="bar-note">
          Not comparable: these ledgers protect different units or compare different neighbours. A
          smaller number is not a stronger promise here.
        </p>
      )}
      {found && (
        <>
          <div class="scroll-box whole" tabIndex={0} role="region" aria-label="Comparison">
            <table class={`plain compare ${found.length > FEW ? "many" : ""}`}>
              <thead>
                <tr>
                  <th scope="col">What</th>
                  {found.map(({ name }) => (
                    <th key={name} scope="col">
                      <A href={ledgerAddress(name)}>
                        <Name of={shortName(name)} />
                      </A>{" "}
                      <Button
                        class="link"
                        aria-label={`Leave out ${shortName(name)}`}
                        onClick={() => set(chosen.filter((one) => one !== name))}
                      >
                        ×
                      </Button>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                <tr>
                  <th scope="row">Cost</th>
                  {found.map((one) => (
                    <td key={one.name} data-label={shortName(one.name)}>
                      <Cost of={one} delta={delta} />
                    </td>
                  ))}
                </tr>
                {rows
                  .filter((row) => all || row.differs)
                  .map(({ label, values, differs }) => (
                    <tr key={label} class={differs ? "" : "same"}>
                      <th scope="row">{label}</th>
                      {values.map((value, i) => (
                        <td key={i} data-label={shortName(found[i].name)}>
                          {value}
                        </td>
                      ))}
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
          <p class="actions">
            <Button class="link" onClick={() => setAll(!all)}>
              {all ? "Only what differs" : `${alike} rows are the same: show`}
            </Button>
            <Button class="link" onClick={csv}>
              CSV
            </Button>
          </p>
          {found.map(
            ({ name, ledger, error }) =>
              error && !ledger && <Failed key={name} error={error} what={shortName(name)} />,
          )}
          {answered.length > 1 && terms.size === 1 && (
            <Curves key={answered.map(({ name }) => name).join()} of={answered} delta={delta} />
          )}
        </>
      )}
      {chosen.length < MOST && <Add add={(name) => set([...chosen, name])} />}
    </Dialog>
  );
}
