// What a better method says of what was answered before: operations.
import { useEffect, useState } from "preact/hooks";
import { hex } from "../api/bytes";
import { call, CallError } from "../api/client";
import type { Method, Operation, StartRecomputeRequest } from "../api/types";
import { useCall } from "../api/use_call";
import { generation } from "../live";
import { Delta } from "../parts/epsilon";
import { FilterField, FilterHelp } from "../parts/filter_field";
import { Chip } from "../parts/icon";
import { A, Awaited, Button, Card, Empty, Failed, Section, Table, Title } from "../parts/parts";
import { go } from "../router";
import { apart, faultOf } from "../text/filter";
import { AndNames, Name, Names, projectOf, shortName, visible } from "../text/names";
import { grouped, number, plural, typed } from "../text/numbers";
import { Time } from "../text/time";
import { adjacencyWords, METHODS, methodWords } from "../text/words";
import { Recomputed } from "./recomputed";
import { OPERATIONS } from "./requests";

const idOf = (operation: Operation) => (operation.name ?? "").replace(/^operations\//, "");
const addressOf = (operation: Operation) => `/recompute/${encodeURIComponent(idOf(operation))}`;

export function State({ of: state }: { of: Operation["state"] }) {
  if (state === "RUNNING") {
    return (
      <Chip shape="open" tone="info">
        running
      </Chip>
    );
  }
  if (state === "DONE") return <Chip shape="held">done</Chip>;
  return <Chip shape="unknown">{state === "CANCELLED" ? "cancelled" : state}</Chip>;
}
export function Asked({ of: request = {} }: { of: StartRecomputeRequest | undefined }) {
  const { parent = "", filter, answeredBeforeVersion: version, delta, options } = request;
  const { method = "BEST", adjacency } = options ?? {};
  const project = parent === "projects/-" ? "" : projectOf(parent);
  return (
    <>
      {filter ? "ledgers" : "all ledgers"}
      {project && (
        <>
          {" "}
          of project <Name of={project} />
        </>
      )}
      {filter && (
        <>
          {" "}
          that fit <code>{visible(filter)}</code>
        </>
      )}
      {version && ` answered before version ${visible(version)}`},{" "}
      {delta ? (
        <>
          at <Delta of={delta} />
        </>
      ) : (
        "at the server’s usual δ"
      )}
      , by{" "}
      {method === "BEST"
        ? "the best method"
        : `method ${methodWords(METHODS[method]?.name ?? method)}`}
      {number(options?.groupSize) > 1 && `, for groups of up to ${grouped(options?.groupSize)}`}
      {adjacency && adjacency !== "ADJACENCY_UNSPECIFIED" && `, to ${adjacencyWords(adjacency)}`}
    </>
  );
}

const MOST_NAMED = 8;
const MOST_COUNTED = 1000; // the longest page
// Which ledgers the filter finds: nothing begins about others than were meant.
function Found({ filter }: { filter: string }) {
  const [settled, setSettled] = useState(filter);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(filter), 300); // after the last letter
    return () => clearTimeout(timer);
  }, [filter]);
  const { data, error } = useCall("LedgerService/ListLedgers", {
    parent: "projects/-",
    filter: apart(settled, false).filter,
    pageSize: MOST_COUNTED,
  });
  if (error || !data) return null; // what is wrong with a filter is said when it is asked
  const { ledgers = [], nextPageToken } = data;
  const names = ledgers.slice(0, MOST_NAMED).map(({ name }) => shortName(name));
  const more = ledgers.length - names.length;
  const count = `${nextPageToken ? "more than " : ""}${plural(ledgers.length, "ledger")}`;
  return (
    <p class="muted" aria-live="polite">
      {ledgers.length ? (
        <>
          It asks about {count}: {more ? <Names of={names} /> : <AndNames of={names} />}
          {more > 0 && ` and ${nextPageToken ? "more than " : ""}${grouped(more)} others`}.
        </>
      ) : (
        "No ledger fits."
      )}
    </p>
  );
}

function Begin({ started }: { started: () => void }) {
  const [error, setError] = useState<CallError | undefined>();
  const [busy, setBusy] = useState(false);
  const [filter, setFilter] = useState("");
  const [wrongDelta, setWrongDelta] = useState("");
  const fault = error && faultOf(filter, error.message);
  const begin = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    // An operation stays on record: none begins at another δ than was meant.
    const delta = Number(text("delta") && (typed(text("delta")) ?? "none"));
    const isWrong = text("delta") !== "" && !(delta > 0 && delta < 1);
    setWrongDelta(isWrong ? text("delta") : "");
    if (isWrong) return;
    setBusy(true);
    try {
      const operation = await call("RecomputeService/StartRecompute", {
        requestId: `page-${hex(crypto.getRandomValues(new Uint8Array(16)))}`,
        parent: "projects/-",
        filter: filter.trim(),
        delta: delta || undefined,
        answeredBeforeVersion: text("version"),
        options: { method: text("method") as Method },
      });
      started();
      go(addressOf(operation));
    } catch (failed) {
      setError(failed as CallError);
      setBusy(false);
    }
  };
  return (
    <Card title="Ask again">
      <p class="muted">
        Old answers stay on record; the new ones stand beside them, in a ledger of the server’s own.
      </p>
      {error && !fault && <Failed error={error} what="a new operation" />}
      <form onSubmit={begin} class="plan-form">
        <div class="filter field wide-field">
          <label for="asked">Ledgers (filter; empty: all)</label>
          <FilterField id="asked" value={filter} change={setFilter} fault={fault} />
          <FilterHelp take={setFilter} />
          <Found filter={filter} />
        </div>
        <label class="field">
          Answered before version
          <input name="version" placeholder="any" />
        </label>
        <label class="field">
          δ
          <input name="delta" inputMode="decimal" placeholder="the server’s usual" />
          {wrongDelta && (
            <span class="warn-text" role="alert">
              “{visible(wrongDelta)}” is no δ: it lies between 0 and 1, as 1e-5 or 0,00001.
            </span>
          )}
        </label>
        <label class="field">
          Method
          <select name="method">
            <option value="BEST">best</option>
            {Object.entries(METHODS).map(([method, { name, about }]) => (
              <option key={name} value={method} title={about}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div class="field">
          <span>&nbsp;</span>
          <Button class="button primary" type="submit" disabled={busy}>
            Start
          </Button>
        </div>
      </form>
    </Card>
  );
}

const cellsOf = (operation: Operation) => [
  <A href={addressOf(operation)}>
    <Name of={idOf(operation)} />
  </A>,
  <Time of={operation.createTime} />,
  <Asked of={operation.request} />,
  <>
    {grouped(operation.lower)} lower, {grouped(operation.higher)} higher,{" "}
    {grouped(operation.refused)} refused; {grouped(operation.done)} of {grouped(operation.total)}
  </>,
  operation.creator ? <Name of={operation.creator} /> : <span class="faint">–</span>,
  <State of={operation.state} />,
];

export function Recompute({ operation }: { operation?: string }) {
  return operation ? <Recomputed id={operation} /> : <All />;
}
function All() {
  const listed = useCall("RecomputeService/ListOperations", OPERATIONS, generation.value);
  const operations = listed.data?.operations ?? [];
  return (
    <>
      <Title
        title="Recompute"
        about="What would today’s methods say of ledgers that were answered before?"
      />
      <Awaited of={listed} what="recomputation" />
      <Begin started={listed.again} />
      {listed.data && operations.length === 0 && (
        <Empty title="Nothing was asked again yet">
          An operation goes on by itself, also when this page is closed.
        </Empty>
      )}
      {operations.length > 0 && (
        <Section title="Operations, newest first">
          <Table
            class="lines"
            columns={[
              { label: "Operation", class: "main", width: 120 },
              { label: "Begun", width: 150 },
              { label: "Asked for", width: 300 },
              { label: "Found", head: "Found: upper bounds", width: 260 },
              { label: "By", width: 90 },
              { label: "State", width: 110 },
            ]}
            rows={operations.map((one) => ({ key: one.name, cells: cellsOf(one) }))}
          />
        </Section>
      )}
    </>
  );
}
