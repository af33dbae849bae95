// What is granted of a budget, and to which runs.
import type {
  BlockSpending,
  BudgetPace,
  BudgetRefusal,
  ComputeBudgetResponse,
  FilterSpending,
  Ledger,
} from "../api/types";
import { useCall } from "../api/use_call";
import { A, Awaited, Section, Table } from "../parts/parts";
import { ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { grouped, number, percentUp, plural, textNear, textUp } from "../text/numbers";
import { Time } from "../text/time";
import { blocksText } from "../text/words";
import { planWords } from "./entries";

const Link = ({ to }: { to: string | undefined }) => (
  <A href={ledgerAddress(to)}>
    <Name of={shortName(to)} />
  </A>
);

/** What is granted of each block, the fullest first. */
function BlockTable({ of: blocks, bound }: { of: BlockSpending[]; bound: number }) {
  const most = 50;
  const fullest = [...blocks].sort((a, b) => number(b.spent) - number(a.spent));
  return (
    <>
      <Table
        columns={[{ label: "Blocks", class: "main" }, "Granted"]}
        rows={fullest.slice(0, most).map(({ blocks: range = {}, spent }) => ({
          key: range.first,
          cells: [
            blocksText([range]),
            `${textUp(number(spent))} of ${textNear(bound)}, ${percentUp(number(spent) / bound)}`,
          ],
        }))}
      />
      {fullest.length > most && (
        <p class="faint">and {grouped(fullest.length - most)} others, less full</p>
      )}
    </>
  );
}

const assignment = ({ declaration = {} }: Ledger) =>
  `A unit's block: ${visible(declaration.blockAssignment)}.`;

/** When it will be full, if as much is granted in each day to come as of late. */
function Pace({ of: pace, isFull }: { of: BudgetPace; isFull: boolean }) {
  const day = (time: string | undefined) => (time ?? "").slice(0, 10);
  return (
    <p class="muted">
      {textUp(number(pace.spentBefore))} had been granted by {day(pace.since)}.{" "}
      {isFull ? (
        "It is full."
      ) : pace.runsOut ? (
        <>
          At this pace it is full on <strong>{day(pace.runsOut)}</strong>.
        </>
      ) : (
        "At this pace it is not full in 100 years."
      )}
    </p>
  );
}

const Overspent = ({ of: ledgers }: { of: string[] }) => (
  <p class="bar-note">
    <strong>Overspent.</strong> What this budget promises does not hold: late entries took{" "}
    {ledgers.map((ledger, at) => (
      <>
        {at > 0 && ", "}
        <Link to={ledger} />
      </>
    ))}{" "}
    above what was granted. Nothing is granted to other runs.
  </p>
);

/** What did not fit, the latest first. */
const RefusedGrants = ({ of: refused }: { of: BudgetRefusal[] }) => (
  <Table
    columns={[{ label: "Refused, since the server started", class: "main" }, "It wanted", "When"]}
    rows={refused.map(({ ledger, ofBatch, times, time, wanted, bound }) => ({
      key: `${ledger} ${ofBatch}`,
      cells: [
        <Link to={ledger} />,
        `${textUp(number(wanted))} of ${textNear(number(bound))} ` +
          (ofBatch ? "that it was granted" : "in all"),
        <>
          <Time of={time} />
          {number(times) > 1 && `, ${grouped(times)} times`}
        </>,
      ],
    }))}
  />
);

// What a run has spent of its grant.
const used = (run: FilterSpending | undefined) =>
  run ? `${textUp(number(run.spent))} of ${textUp(number(run.granted))}` : "not known yet";

function Granted({ of: answer, ledger }: { of: ComputeBudgetResponse; ledger: Ledger }) {
  const { spending = {}, grants = [], grantCount, runs = [] } = answer;
  const { overspent = [], retiredBlocks = [], refused = [], pace } = answer;
  const runOf = new Map(runs.map((run) => [run.ledger, run]));
  const spent = number(spending.spent);
  const bound = number(spending.bound);
  const more = number(grantCount) - grants.length;
  return (
    <>
      <p>
        <strong>{textUp(spent)}</strong> of {textNear(bound)} is granted, {percentUp(spent / bound)}
        , counted as {visible(spending.filter)}. What a run is granted counts whole, whether it was
        used or not; the server refuses what does not fit beside it.
        {ledger.declaration?.blockAssignment &&
          ` Each of its blocks has the whole bound; this is of the fullest. ${assignment(ledger)}`}
        {ledger.state === "SEALED" && " It is sealed: nothing more is granted."}
      </p>
      {retiredBlocks.length > 0 && (
        <p>Blocks {blocksText(retiredBlocks)} are retired: nothing more of them is granted.</p>
      )}
      {overspent.length > 0 && <Overspent of={overspent} />}
      {pace && <Pace of={pace} isFull={spent >= bound} />}
      {grants.length > 0 && (
        <Table
          columns={[{ label: "Run", class: "main" }, "May cost", "Spent"]}
          rows={grants.map(({ ledger: run, plan = [], blocks = [] }) => ({
            key: run,
            cells: [
              <Link to={run} />,
              blocks.length > 0
                ? `${planWords(plan)}; of blocks ${blocksText(blocks)}`
                : planWords(plan),
              used(runOf.get(run)),
            ],
          }))}
        />
      )}
      {answer.blocks && answer.blocks.length > 0 && <BlockTable of={answer.blocks} bound={bound} />}
      {more > 0 && <p class="faint">and {grouped(more)} more</p>}
      {refused.length > 0 && <RefusedGrants of={refused} />}
    </>
  );
}

export function Budget({ of: ledger }: { of: Ledger }) {
  const asked = { budget: ledger.name };
  const called = useCall("AccountingService/ComputeBudget", asked, ledger.size);
  const title = (
    <>
      Budget <Link to={ledger.name} />
    </>
  );
  return (
    <Section title={title} side={called.data && plural(called.data.grantCount, "run")}>
      {called.data ? (
        <Granted of={called.data} ledger={ledger} />
      ) : (
        <Awaited of={called} what="what is granted" />
      )}
    </Section>
  );
}
