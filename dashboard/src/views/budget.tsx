// What is granted of a budget, and to which runs.
import type { BlockRange, BlockSpending, ComputeBudgetResponse, Ledger } from "../api/types";
import { useCall } from "../api/use_call";
import { A, Awaited, Section, Table } from "../parts/parts";
import { ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { grouped, number, percentUp, plural, textNear, textUp } from "../text/numbers";
import { planWords } from "./entries";

const Link = ({ to }: { to: string | undefined }) => (
  <A href={ledgerAddress(to)}>
    <Name of={shortName(to)} />
  </A>
);

/** "1–12, 14" */
export const blocksText = (blocks: BlockRange[]) =>
  blocks.map(({ first, last }) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");

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

function Granted({ of: answer, ledger }: { of: ComputeBudgetResponse; ledger: Ledger }) {
  const { spending = {}, grants = [], grantCount } = answer;
  const spent = number(spending.spent);
  const bound = number(spending.bound);
  const more = number(grantCount) - grants.length;
  return (
    <>
      <p>
        <strong>{textUp(spent)}</strong> of {textNear(bound)} is granted ({visible(spending.filter)}
        , {percentUp(spent / bound)}). What a run is granted counts whole, whether it was used or
        not; the server refuses what does not fit beside it.
        {ledger.declaration?.blockAssignment &&
          ` Each of its blocks has the whole bound; this is of the fullest. ${assignment(ledger)}`}
        {ledger.state === "SEALED" && " It is sealed: nothing more is granted."}
      </p>
      {grants.length > 0 && (
        <Table
          columns={[{ label: "Run", class: "main" }, "May cost"]}
          rows={grants.map(({ ledger: run, plan = [], blocks = [] }) => ({
            key: run,
            cells: [
              <Link to={run} />,
              blocks.length > 0
                ? `${planWords(plan)}; of blocks ${blocksText(blocks)}`
                : planWords(plan),
            ],
          }))}
        />
      )}
      {answer.blocks && answer.blocks.length > 0 && <BlockTable of={answer.blocks} bound={bound} />}
      {more > 0 && <p class="faint">and {grouped(more)} more</p>}
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
