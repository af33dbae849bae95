// What may be told to the people in a data set: the total of all its runs and which guarantee it is, or why there is none.
import { jsonAddress } from "../api/client";
import type { ComputeEpsilonRequest, ListLedgersRequest } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { EpsilonBlock, EpsilonWords, TierNote, upper } from "../parts/epsilon";
import { A, Card, Empty, Failed, Loading, Notice, Section, Title } from "../parts/parts";
import { askedDelta } from "../router";
import { Name, shortName, visible } from "../text/names";
import { count, grouped, plural } from "../text/numbers";
import { isOdometer, regimeOf, unitsOf } from "../text/words";
import { Refused } from "./ledger";
import { LedgerRows, useLedgers, type Row } from "./ledgers";

const quoted = (text: string) => `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
const MOST_NAMED = 100; // ledgers that one question may name

const ask = (name: string): ComputeEpsilonRequest => ({ subject: { dataset: name }, delta: askedDelta() });
export const datasetJson = (name: string) => jsonAddress("AccountingService/ComputeEpsilon", ask(name));

function Odometer({ undeclared, runs }: { undeclared: number; runs: number }) {
  return <>
    <p class="bar-note"><strong>This is no differential privacy.</strong> It bounds the privacy loss of the runs that happened, at every time so far, whatever they depended on; the chance that their own randomness showed more is δ. Runs that did not happen it says nothing of.</p>
    {undeclared > 0 && <p class="muted">What would make it differential privacy: {grouped(undeclared)} of {grouped(runs)} runs do not declare that their plan was independent of the others’ outputs. New runs can declare it (<code>plan_independent</code>); recorded ones cannot be changed.</p>}
  </>;
}

export function Dataset({ name }: { name: string }) {
  const version = generation.value;
  const request: ListLedgersRequest = { parent: "projects/-", pageSize: 1000, filter: `dataset = ${quoted(name)}` };
  const filtered = useLedgers(request);
  // An older server has no filters: its ledgers are looked through here.
  const old = filtered.error?.code === "invalid_argument";
  const all = useCall("LedgerService/ListLedgers", old ? { parent: "projects/-", pageSize: 1000 } : undefined, version);
  const rows: Row[] | undefined = old ? all.data?.ledgers?.filter((ledger) => ledger.declaration?.dataset === name).map((ledger) => ({ ledger })) : filtered.rows?.filter((row) => row.ledger.declaration?.dataset === name);
  const question: ComputeEpsilonRequest | undefined = !rows?.length ? undefined : old
    ? rows.length <= MOST_NAMED ? { subject: { ledgers: rows.map((row) => row.ledger.name ?? "") }, delta: askedDelta() } : undefined : ask(name);
  const total = useCall("AccountingService/ComputeEpsilon", question, version);
  const error = old ? all.error : filtered.error;
  const largest = rows?.filter((row) => row.summary?.epsilon).sort((a, b) => upper(b.summary!.epsilon!) - upper(a.summary!.epsilon!))[0];
  const undeclared = rows?.filter((row) => row.ledger.declaration?.parameters === "FIXED" && !row.ledger.declaration?.planIndependent) ?? [];
  const units = [...new Set(rows?.map((row) => row.ledger.declaration?.unitOfPrivacy ?? ""))];
  const adjacencies = [...new Set(rows?.map((row) => row.ledger.declaration?.adjacency ?? ""))];
  const refused = total.error && ["failed_precondition", "unimplemented"].includes(total.error.code);
  return <>
    <Title trail={<A href="/">Data sets</A>} title={<Name of={name} whole />} about={rows && <>{plural(rows.length, "run")} on this server; one record is one {units.map((unit, i) => <>{i > 0 && " or one "}<Name of={unit} /></>)}.</>}
      actions={<><A class="button" href={`/ledgers?${new URLSearchParams({ filter: request.filter! })}`}>As a list</A><A class="button primary" href={`/statement?${new URLSearchParams({ dataset: name })}`}>Statement</A></>} />
    {error && <Failed error={error} what="the runs over this data set" />}
    {!rows && !error && <Loading what="its runs" />}
    {rows && rows.length === 0 && <Empty title="No ledger here names this data set">Names must be equal letter by letter. <A href="/">All data sets</A></Empty>}
    {rows && rows.length > 0 && <>
      <Card class="epsilon-card" title="">
        {total.data?.epsilon ? <EpsilonBlock epsilon={total.data.epsilon} details={total.data.details} terms={{ delta: total.data.delta ?? 0, unit: unitsOf(total.data.details), adjacency: total.data.details?.adjacency, regime: regimeOf(total.data.details) }}>
          <p class="muted">All {plural(rows.length, "run")} together, if every model and answer is seen. What a fork shares with its parent counts once.</p>
          {total.data.plannedEpsilon && <p class="muted">If all plans are charged: <strong><EpsilonWords epsilon={total.data.plannedEpsilon} delta={total.data.delta ?? 0} /></strong></p>}
          {isOdometer(regimeOf(total.data.details)) && <Odometer undeclared={undeclared.length} runs={rows.length} />}
          {(total.data.details?.warnings ?? []).slice(0, 4).map((line) => <p key={line} class="faint">{visible(line)}</p>)}
        </EpsilonBlock>
          : refused ? <Refused error={total.error!}>
            {largest && <p>The total is at least that of the largest single run, <Name of={shortName(largest.ledger.name ?? "")} />: <strong><EpsilonWords epsilon={largest.summary!.epsilon!} delta={largest.summary!.delta ?? 0} /></strong></p>}
          </Refused>
          : total.error ? <Failed error={total.error} what="the total" again={total.again} />
          : rows.length > MOST_NAMED && old ? <Notice shape="unknown" tone="plain" title="Not asked">This server adds up at most {MOST_NAMED} ledgers by name.</Notice> : <Loading what="the total" />}
      </Card>
      {(units.length > 1 || adjacencies.length > 1) && <p class="bar-note">Its runs protect different units or compare different neighbours. Their numbers must not be compared or added by hand.</p>}
      <Section title="Its runs" side={`${plural(rows.reduce((sum, row) => sum + count(row.ledger.size), 0), "entry", "entries")}`}><div class="card flush"><table class="rows ledgers"><thead><tr><th scope="col">Ledger</th><th scope="col">Cost of what was recorded</th><th scope="col">Rounds</th><th scope="col">State</th><th scope="col">Last entry</th></tr></thead>
        <tbody><LedgerRows rows={rows} dataset={false} /></tbody></table></div></Section>
      <TierNote />
    </>}
  </>;
}
