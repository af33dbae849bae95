// What may be told to the people in a data set: the total of all its runs and which guarantee it
// is, or why there is none.
import { jsonAddress } from "../api/client";
import type { ComputeEpsilonRequest, ComputeEpsilonResponse } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { AsPlanned } from "../parts/as_planned";
import { Ask } from "../parts/ask";
import { isBarred } from "../parts/doubts";
import { EpsilonBlock, EpsilonWords, TierNote, termsOf, upper } from "../parts/epsilon";
import { A, Awaited, Card, Empty, Failed, Loading, Section, Title } from "../parts/parts";
import { askedDelta, place, statementAddress } from "../router";
import { quoted } from "../text/filter";
import { Name, OrNames, shortName, visible } from "../text/names";
import { entriesText, grouped, number, plural } from "../text/numbers";
import { isOdometer } from "../text/words";
import { Budget } from "./budget";
import { ColumnMenu, type Row } from "./ledger_columns";
import { LedgerTable, useLedgers } from "./ledger_list";
import { Refused } from "./refused";
import { ALL, givenOptions } from "./requests";

const ask = (name: string): ComputeEpsilonRequest => ({
  subject: { dataset: name },
  delta: askedDelta(),
  options: givenOptions(),
});
export const datasetJson = (name: string) =>
  jsonAddress("AccountingService/ComputeEpsilon", ask(name));

function Odometer({ of: rows }: { of: Row[] }) {
  const declared = rows.map(({ ledger: { declaration } }) => declaration ?? {});
  const undeclared = declared.filter((one) => !one.planIndependent).length;
  // Beside an adaptive run it would make none.
  if (declared.some((one) => one.parameters !== "FIXED")) return null;
  return (
    <>
      {undeclared > 0 && (
        <p class="muted">
          What would make it differential privacy: {grouped(undeclared)} of {grouped(rows.length)}{" "}
          runs do not declare that their plan was independent of the others’ outputs. New runs can
          declare it (<code>plan_independent</code>); recorded ones cannot be changed.
        </p>
      )}
    </>
  );
}

const MOST_REMARKS = 4;
function Remarks({ of: lines }: { of: string[] }) {
  const shown = (some: string[]) =>
    some.map((line) => (
      <p key={line} class="faint">
        {visible(line)}
      </p>
    ));
  const rest = lines.slice(MOST_REMARKS);
  return (
    <>
      {shown(lines.slice(0, MOST_REMARKS))}
      {rest.length > 0 && (
        <details>
          <summary>{plural(rest.length, "remark")} more</summary>
          {shown(rest)}
        </details>
      )}
    </>
  );
}

interface TotalProps {
  request: ComputeEpsilonRequest;
  of: ComputeEpsilonResponse;
  rows: Row[];
}
function Total({ request, of: answer, rows }: TotalProps) {
  const { epsilon = {}, plannedEpsilon, delta, details } = answer;
  return (
    <EpsilonBlock epsilon={epsilon} details={details} terms={termsOf(details, delta)}>
      <p class="muted">
        {rows.length === 0
          ? "All that its budget lets runs do together: there is none yet."
          : `${rows.length === 1 ? "Its one run" : `All ${grouped(rows.length)} runs together`}, ` +
            "if every model and answer is seen. What a fork shares with its parent counts once."}
      </p>
      {plannedEpsilon && (
        <p class="muted">
          If all plans are charged:{" "}
          <strong>
            <EpsilonWords epsilon={plannedEpsilon} delta={delta} />
          </strong>
        </p>
      )}
      <AsPlanned request={request} of={answer} version={generation.value} />
      {isOdometer(details?.regime) && <Odometer of={rows} />}
      <Remarks of={(details?.warnings ?? []).filter((line) => !isBarred(line))} />
    </EpsilonBlock>
  );
}

// Where there are budgets, the runs that they do not bound.
function Unbudgeted({ of: rows, budgets }: { of: Row[]; budgets: number }) {
  const free = rows.filter(({ ledger }) => !ledger.declaration?.budget);
  if (!budgets || !free.length) return null;
  const names = free.slice(0, 5).map(({ ledger }) => visible(shortName(ledger.name)));
  return (
    <p class="bar-note">
      <strong>No budget bounds {plural(free.length, "run")} over this data set:</strong>{" "}
      {names.join(", ")}
      {free.length > names.length && ` and ${grouped(free.length - names.length)} more`}.
    </p>
  );
}

// What is known where there is no total.
function Largest({ of: rows }: { of: Row[] }) {
  const bound = ({ summary }: Row) => upper(summary?.epsilon);
  const costed = rows.filter(({ summary }) => summary?.epsilon);
  const largest = costed.sort((a, b) => bound(b) - bound(a))[0];
  // One that has no number may be larger.
  if (!largest || costed.length < rows.length) return null;
  const { epsilon, delta } = largest.summary!;
  return (
    <p>
      The total is at least that of the largest single run,{" "}
      <Name of={shortName(largest.ledger.name)} />:{" "}
      <strong>
        <EpsilonWords epsilon={epsilon!} delta={delta} />
      </strong>
    </p>
  );
}

export function Dataset({ name }: { name: string }) {
  const filter = `dataset = ${quoted(name)}`;
  const orderBy = place.value.query.get("order") || undefined;
  const { rows: found, error } = useLedgers({ ...ALL, filter, orderBy }, Infinity);
  const over = found?.filter((row) => row.ledger.declaration?.dataset === name);
  const isBudget = ({ ledger }: Row) => ledger.declaration?.kind === "BUDGET";
  const budgets = over?.filter(isBudget) ?? [];
  const rows = over?.filter((row) => !isBudget(row));
  const question = over?.length ? ask(name) : undefined;
  const total = useCall("AccountingService/ComputeEpsilon", question, generation.value);
  const declared = (rows?.length ? rows : (over ?? [])).map(
    ({ ledger }) => ledger.declaration ?? {},
  );
  const units = [...new Set(declared.map((one) => one.unitOfPrivacy ?? ""))];
  const adjacencies = new Set(declared.map((one) => one.adjacency));
  const entries = (rows ?? []).reduce((sum, { ledger }) => sum + number(ledger.size), 0);
  const about = rows && (
    <>
      {plural(rows.length, "run")} on this server that you may list
      {units.length > 0 && (
        <>
          ; one record is one <OrNames of={units} />
        </>
      )}
      .
    </>
  );
  const actions = (
    <>
      <A class="button" href={`/ledgers?${new URLSearchParams({ filter })}`}>
        As a list
      </A>
      <A class="button primary" href={statementAddress({ dataset: name })}>
        Statement
      </A>
    </>
  );
  return (
    <div class="wide">
      <Title
        trail={<A href="/">Data sets</A>}
        title={<Name of={name} whole />}
        about={about}
        actions={actions}
      />
      {error && <Failed error={error} what="the runs over this data set" />}
      {!rows && !error && <Loading what="its runs" />}
      {budgets.map(({ ledger }) => (
        <Budget key={ledger.name} of={ledger} />
      ))}
      {over?.length === 0 && (
        <Empty title="No ledger here names this data set">
          Names must be equal letter by letter. <A href="/">All data sets</A>
        </Empty>
      )}
      {rows && question && (
        <>
          <Card class="epsilon-card">
            {total.data ? (
              <Total request={ask(name)} of={total.data} rows={rows} />
            ) : total.error?.code === "failed_precondition" ? (
              <Refused message={total.error.message} code={total.error}>
                <Largest of={rows} />
              </Refused>
            ) : (
              <Awaited of={total} what="the total" />
            )}
            <Ask shown={askedDelta()} />
          </Card>
          {(units.length > 1 || adjacencies.size > 1) && (
            <p class="bar-note">
              Its runs protect different units or compare different neighbours. Their numbers must
              not be compared or added by hand.
            </p>
          )}
          <Unbudgeted of={rows} budgets={budgets.length} />
          {rows.length > 0 && (
            <Section
              title="Its runs"
              side={
                <>
                  {entriesText(entries)} <ColumnMenu />
                </>
              }
            >
              <LedgerTable rows={rows} without="dataset" />
            </Section>
          )}
          <TierNote />
        </>
      )}
    </div>
  );
}
