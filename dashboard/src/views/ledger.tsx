// One ledger: what this run did, what it cost, and what that number stands on.
import { useMemo } from "preact/hooks";
import { jsonAddress, signedIn } from "../api/client";
import type { ComputeEpsilonRequest, Ledger as Message } from "../api/types";
import { useCall } from "../api/use_call";
import { changed, generation } from "../live";
import { Chip } from "../parts/icon";
import { StateChips } from "../parts/ledger_state";
import { A, Awaited, Button, Copy, Failed, Notice, Title } from "../parts/parts";
import { serverName } from "../prefix";
import {
  askedDelta,
  datasetAddress,
  givenSize,
  place,
  projectAddress,
  setQuery,
  statementAddress,
  verifyAddress,
} from "../router";
import { Name, projectOf, shortName } from "../text/names";
import { entriesText, grouped, number } from "../text/numbers";
import { checkedHere } from "../verify/kept";
import { Budget } from "./budget";
import { useRuns } from "./entries";
import { EntryList, OpenedEntry } from "./entry_list";
import { Lazy } from "./lazy";
import { Aside } from "./ledger_aside";
import { Cost } from "./ledger_cost";
import { Runs } from "./ledger_runs";
import { givenOptions } from "./requests";

const askOf = (name: string): ComputeEpsilonRequest => ({
  subject: { ledgers: [name], upToSequence: givenSize() },
  delta: askedDelta(),
  options: givenOptions(),
});
export const ledgerJson = (name: string) =>
  jsonAddress("AccountingService/ComputeEpsilon", askOf(name));

function Checked({ of: { name = "", size } }: { of: Message }) {
  const checked = checkedHere.get(name);
  if (checked === undefined || checked !== size) return null;
  const what = "Its entries are those that were signed; no accounting was done here";
  return (
    <Chip shape="held" tone="held" title={what}>
      checked in this browser, {entriesText(checked)}
    </Chip>
  );
}

export function Ledger({ name, entry }: { name: string; entry?: string }) {
  const version = generation.value && (changed.get(name) ?? 0);
  const ledger = useCall("LedgerService/GetLedger", { name }, version);
  const { data } = ledger;
  const request = useMemo(() => askOf(name), [name, place.value.query.toString()]);
  const asked = data ? request : undefined;
  const cost = useCall("AccountingService/ComputeEpsilon", asked, data?.size);
  const pinned = request.subject!.upToSequence;
  const size = number(pinned ?? data?.size);
  const { runs, specials, read, done, error } = useRuns(name, size);
  const short = shortName(name);
  const project = projectOf(name);
  if (!data) {
    return (
      <>
        <Title title={<Name of={short} />} />
        <Awaited of={ledger} what="this ledger" />
      </>
    );
  }
  const counted = (kind: string) => String(specials.filter((one) => one.kind === kind).length);
  const summary = {
    corrections: counted("correction"),
    conflicts: counted("conflict"),
    refusal: cost.error?.code === "failed_precondition" ? {} : undefined,
    epsilon: cost.data?.epsilon,
  };
  const token = signedIn.value ? " --token-file FILE" : "";
  const exporting = `dpledger ledger export ${name} --server ${serverName()}${token}`;
  const showAll = (
    <Button class="link" onClick={() => setQuery({ size: "" })}>
      Show all
    </Button>
  );
  return (
    <>
      <Title
        trail={
          <>
            <A href="/">Data sets</A> /{" "}
            <A href={datasetAddress(data.declaration?.dataset)}>
              <Name of={data.declaration?.dataset} />
            </A>
            {project !== "default" && (
              <>
                {" "}
                · project <A href={projectAddress(project)}>{project}</A>
              </>
            )}
          </>
        }
        title={<Name of={short} />}
        chips={
          <>
            <StateChips ledger={data} summary={summary} />
            <Checked of={data} />
          </>
        }
        actions={
          <>
            <Button onClick={() => setQuery({ open: `compare:${short}` }, "push")}>Compare</Button>
            <A class="button" href={verifyAddress(name)}>
              Verify
            </A>
            <A class="button primary" href={statementAddress({ ledger: name })}>
              Statement
            </A>
          </>
        }
      />
      {ledger.error && <Awaited of={ledger} what="the newest state" />}
      {pinned && (
        <Notice
          shape="open"
          tone="info"
          title={`Shown: the first ${grouped(pinned)} of ${grouped(data.size)} entries`}
          action={showAll}
        />
      )}
      <div class="with-aside">
        <div class="column">
          {entry && <OpenedEntry ledger={name} entry={entry} size={size} />}
          <Cost ledger={data} request={request} of={cost} />
          {data.declaration?.kind === "BUDGET" && <Budget of={data} />}
          <Lazy of="charts" ledger={data} size={size} answer={cost.data} runs={runs} />
          {error && <Failed error={error} what="the entries" />}
          <Runs of={runs} read={read} done={done} size={size} file={short} />
          <EntryList ledger={name} size={size} entry={entry} />
          <p class="footnote">
            A bundle to keep and to check anywhere: <code>{exporting}</code> <Copy of={exporting} />
          </p>
        </div>
        <Aside ledger={data} details={cost.data?.details} specials={specials} />
      </div>
    </>
  );
}
