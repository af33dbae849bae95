// Who did what to the record: the access record that a server with callers keeps, and how the
// server is.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { fromBase64 } from "../api/bytes";
import { call, headers } from "../api/client";
import { decodeEntry } from "../api/decode";
import type { Access, GetCheckpointResponse, Token } from "../api/types";
import { useCall, useTask } from "../api/use_call";
import { generation, lastHeard, liveState } from "../live";
import { Chip } from "../parts/icon";
import { A, Card, Empty, Facts, Failed, Loading, Section, Table, Title } from "../parts/parts";
import { entryAddress, ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { grouped, number, plural } from "../text/numbers";
import { Time } from "../text/time";
import { cosignatures, keyId } from "../text/words";
import { ALL } from "./requests";

// Ledgers that the server itself keeps: one a month (docs/identity.md).
const RECORDS = /^projects\/access-record\//;
const LAST = 400; // entries of the newest record

interface Line extends Access {
  sequence: number;
}
async function readRecord(ledger: string, size: number, signal: AbortSignal): Promise<Line[]> {
  const firstSequence = String(Math.max(0, size - LAST));
  const request = { ledger, firstSequence, pageSize: LAST };
  const answer = await call("LedgerService/ReadEntries", request, signal);
  const lines: Line[] = [];
  for (const text of answer.entries ?? []) {
    const { note, sequence } = decodeEntry(fromBase64(text));
    try {
      const access = JSON.parse(note?.text ?? "") as Access;
      lines.push({ ...access, sequence: number(sequence) });
    } catch {
      // An entry that is no access.
    }
  }
  return lines.reverse();
}

function useHealth(path: string): ComponentChildren {
  const [state, setState] = useState("");
  useEffect(() => {
    fetch(path, { headers: headers(), cache: "no-store" }).then(
      async (answer) => {
        const words = await answer.text(); // a body that is not read keeps its connection
        setState(answer.ok ? "ok" : words.slice(0, 80));
      },
      () => setState("cannot be reached"),
    );
  }, [generation.value]);
  if (!state) return "asking";
  if (state === "ok") return <Chip shape="held">yes</Chip>;
  return (
    <Chip shape="attend" tone="warn">
      {visible(state)}
    </Chip>
  );
}

const Times = ({ of: count }: { of: string | undefined }) => (
  <>{number(count) > 1 && `, ${grouped(count)} times`}</>
);
const On = ({ of: resource }: { of: string | undefined }) => (
  <>
    {resource && (
      <>
        {" "}
        on <Name of={resource} />
      </>
    )}
  </>
);
function What({ of: { refused, administers, reads = [] } }: { of: Line }) {
  if (refused) {
    return (
      <div>
        <Chip shape="refused" tone="bad">
          refused
        </Chip>{" "}
        {refused.permission ? <code>{visible(refused.permission)}</code> : "sign-in"}
        <On of={refused.resource} />
        {refused.reason && `: ${visible(refused.reason)}`}
        <Times of={refused.count} />
      </div>
    );
  }
  if (administers) {
    return (
      <div>
        administers: <code>{visible(administers.method)}</code>
        <On of={administers.about} />
      </div>
    );
  }
  return (
    <div>
      {reads.map(({ permission, resource, count }, i) => (
        <span key={i}>
          {i > 0 && "; "}
          <code>{visible(permission)}</code>
          <On of={resource} />
          <Times of={count} />
        </span>
      ))}
    </div>
  );
}
const Lines = ({ of: lines, ledger }: { of: Line[]; ledger: string }) => (
  <Table
    columns={[{ label: "Entry", class: "num" }, "Who", "What", "From", "When"]}
    rows={lines.map((line) => ({
      key: line.sequence,
      cells: [
        <A href={entryAddress(ledger, line.sequence)}>{grouped(line.sequence)}</A>,
        line.caller ? <Name of={line.caller} /> : <span class="faint">not known</span>,
        <What of={line} />,
        <Name of={line.peer || "–"} />,
        <Time of={line.time} clock />,
      ],
    }))}
  />
);

function Signs({ of: { note = "", verifierKeys = [] } }: { of: GetCheckpointResponse }) {
  const [origin, size] = note.split("\n");
  const witnesses = cosignatures(note);
  return (
    <Facts
      rows={[
        ["Registry", <Name of={origin} whole />],
        ["Entries", grouped(size || 0)],
        ["Key", <code>{keyId(verifierKeys.at(-1))}</code>],
        ["Keys so far", grouped(verifierKeys.length)],
        [
          "Witnesses",
          witnesses > 0 ? (
            plural(witnesses, "cosignature")
          ) : (
            <span class="warn-text">none cosigned</span>
          ),
        ],
      ]}
    />
  );
}

function End({ of: { revokeTime, expireTime } }: { of: Token }) {
  if (revokeTime) {
    return (
      <span>
        revoked <Time of={revokeTime} clock />
      </span>
    );
  }
  return <span>{expireTime ? <Time of={expireTime} clock /> : "never"}</span>;
}
function mayOf({ grants = [] }: Token): string {
  const over = (dataSet: string | undefined) => (dataSet ? ` over ${visible(dataSet)}` : "");
  return grants.map(({ role, scope, dataSet }) => `${role} on ${scope}${over(dataSet)}`).join("; ");
}
const Tokens = ({ of: tokens }: { of: Token[] }) => (
  <Table
    columns={[{ label: "Name", class: "main" }, "May", "Made", "Ends", "Last used"]}
    rows={tokens.map((token) => ({
      key: token.id,
      cells: [
        <>
          <Name of={token.name} />
          <small>
            <code>{token.id}</code>
          </small>
        </>,
        <div>{mayOf(token)}</div>,
        <Time of={token.createTime} clock />,
        <End of={token} />,
        token.lastUseTime ? <Time of={token.lastUseTime} /> : "not known",
      ],
    }))}
  />
);

function Record({ ledger, size }: { ledger: string; size: number }) {
  const { data: lines, error } = useTask(
    (signal) => readRecord(ledger, size, signal),
    [ledger, size],
  );
  const refusals = (lines ?? []).filter((line) => line.refused);
  const whole = (
    <A href={ledgerAddress(ledger)}>
      <Name of={shortName(ledger)} />
    </A>
  );
  return (
    <>
      {error && <Failed error={error} what="the access record" />}
      {refusals.length > 0 && (
        <Section title="Refused" side={plural(refusals.length, "refusal")}>
          <Lines of={refusals.slice(0, 20)} ledger={ledger} />
        </Section>
      )}
      <Section title="Access record" side={whole}>
        {lines && <Lines of={lines.slice(0, 100)} ledger={ledger} />}
        {!lines && !error && <Loading what="the access record" />}
      </Section>
    </>
  );
}

export function Activity() {
  const ledgers = useCall("LedgerService/ListLedgers", ALL, generation.value);
  const registry = useCall("AuditService/GetCheckpoint", {}, generation.value);
  const tokens = useCall("AdminService/ListTokens", {});
  const healthy = useHealth("/healthz");
  const ready = useHealth("/readyz");
  const records = (ledgers.data?.ledgers ?? []).filter(({ name = "" }) => RECORDS.test(name));
  const newest = records.sort((a, b) => (a.name! < b.name! ? 1 : -1))[0];
  const heard = lastHeard.value && new Date(lastHeard.value).toLocaleTimeString();
  return (
    <>
      <Title title="Activity" about="Who did what to the record, and how the server is." />
      <div class="two">
        <Card title="The server">
          <Facts
            rows={[
              ["Answers calls", healthy],
              ["Everything provable", ready],
              ["This page", `${liveState.value}${heard ? `, last heard ${heard}` : ""}`],
              ["Figures", <a href="/metrics">for Prometheus</a>],
            ]}
          />
        </Card>
        <Card title="What it signs">
          {registry.error ? (
            <Failed error={registry.error} what="the registry’s checkpoint" />
          ) : (
            <Signs of={registry.data ?? {}} />
          )}
          <p class="card-foot">
            <A href="/verify">Verify a ledger</A>
          </p>
        </Card>
      </div>
      {tokens.data && (
        <Section title="Tokens">
          <Tokens of={tokens.data.tokens ?? []} />
        </Section>
      )}
      {ledgers.error && <Failed error={ledgers.error} what="the ledgers" again={ledgers.again} />}
      {ledgers.data && !newest && (
        <Section title="Access record">
          <Empty title="No access record that you may read">
            A server that knows its callers (<code>--identity</code>) keeps one in ledgers of its
            own. This one does not, or your token does not reach it.
          </Empty>
        </Section>
      )}
      {newest && <Record ledger={newest.name!} size={number(newest.size)} />}
    </>
  );
}
