// Who used the server for what: the access record that a server with callers keeps, and how the
// server is.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, headers, type CallError } from "../api/client";
import type {
  Access,
  GetCheckpointResponse,
  ListAccessRequest,
  ListAccessResponse,
  Token,
} from "../api/types";
import { useCall } from "../api/use_call";
import { generation, lastHeard, liveState } from "../live";
import { Chip } from "../parts/icon";
import {
  A,
  Button,
  Card,
  Empty,
  Facts,
  Failed,
  Loading,
  Section,
  Table,
  Title,
} from "../parts/parts";
import { urlOf } from "../prefix";
import { ledgerAddress, place, setQuery } from "../router";
import { Name, Names, shortName, visible } from "../text/names";
import { entriesText, grouped, number } from "../text/numbers";
import { fullWords } from "../text/dates";
import { Time } from "../text/time";
import { cosigners, keyId } from "../text/words";
import { AccessFile } from "./access_file";
import { accessRequest } from "./requests";

function useHealth(path: string): ComponentChildren {
  const [state, setState] = useState("");
  useEffect(() => {
    fetch(urlOf(path), { headers: headers(), cache: "no-store" }).then(
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
        on <Name of={shortName(resource)} />
      </>
    )}
  </>
);
function What({ of: { caller, refused, administers, reads = [] } }: { of: Access }) {
  const isKnown = !!caller;
  if (refused) {
    return (
      <>
        <Chip shape="refused" tone="bad">
          refused
        </Chip>{" "}
        {refused.permission ? (
          <code>{visible(refused.permission)}</code>
        ) : isKnown ? (
          "a question"
        ) : (
          "sign-in"
        )}
        <On of={refused.resource} />
        {refused.reason && `: ${visible(refused.reason)}`}
        <Times of={refused.count} />
      </>
    );
  }
  if (administers) {
    return (
      <>
        administers: <code>{visible(administers.method)}</code>
        <On of={administers.about} />
      </>
    );
  }
  return (
    <>
      {reads.map(({ permission, resource, count, entries }, i) => (
        <span key={i}>
          {i > 0 && "; "}
          <code>{visible(permission)}</code>
          <On of={resource} />
          <Times of={count} />
          {number(entries) > 0 && `, ${entriesText(entries)}`}
        </span>
      ))}
    </>
  );
}
const Lines = ({ of: lines }: { of: Access[] }) => (
  <Table
    class="lines access"
    columns={["Who", "What", "From", "When"]}
    rows={lines.map((line, i) => ({
      key: i,
      cells: [
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
  const witnesses = cosigners(note);
  return (
    <Facts
      rows={[
        ["Registry", <Name of={origin} whole />],
        ["Entries", grouped(size || 0)],
        ["Key", <code>{keyId(verifierKeys.at(-1))}</code>],
        ["Keys so far", grouped(verifierKeys.length)],
        [
          "Witnesses",
          witnesses.length > 0 ? (
            <Names of={witnesses} />
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
    class="lines"
    columns={[{ label: "Name", class: "main" }, "Id", "May", "Made", "Ends", "Last used"]}
    rows={tokens.map((token) => ({
      key: token.id,
      cells: [
        <Name of={token.name} />,
        <code>{token.id}</code>,
        mayOf(token),
        <Time of={token.createTime} clock />,
        <End of={token} />,
        token.lastUseTime ? <Time of={token.lastUseTime} /> : "not known",
      ],
    }))}
  />
);

const PERMISSIONS = ["list", "ask", "read_entries", "export", "verify", "administer"];
// The fields have the names of the address.
function Filter() {
  const form = useRef<HTMLFormElement>(null);
  const { query } = place.value;
  useEffect(() => {
    for (const field of form.current!.querySelectorAll<HTMLInputElement>("[name]"))
      field.value = query.get(field.name) ?? "";
  }, [query]);
  const submit = (event: Event) => {
    event.preventDefault();
    setQuery(Object.fromEntries(new FormData(form.current!)) as Record<string, string>, "push");
  };
  return (
    <form ref={form} onSubmit={submit} class="plan-form" role="search">
      <label class="field">
        Ledger
        <input name="ledger" placeholder="any" spellcheck={false} />
      </label>
      <label class="field">
        Caller
        <input name="caller" placeholder="any" spellcheck={false} />
      </label>
      <label class="field">
        Permission
        <select name="permission">
          <option value="">any</option>
          {PERMISSIONS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label class="field">
        Outcome
        <select name="refused">
          <option value="">any</option>
          <option value="1">refused</option>
        </select>
      </label>
      <div class="field">
        <span>&nbsp;</span>
        <Button type="submit">Filter</Button>
      </div>
    </form>
  );
}

interface RecordProps {
  of: ListAccessRequest;
  title: string;
  aside?: boolean; // shown only if there is something in it
  above?: ComponentChildren; // for those who may see it: asked for when that is known
  children?: ComponentChildren;
}
// Asked when the reader does, and by no update: the record notes each question, and so changes.
function Record({ of: request, title, aside, above, children }: RecordProps) {
  const first = useCall("AdminService/ListAccess", request);
  const [kept, keep] = useState<{ pages: ListAccessResponse[]; error?: CallError }>({ pages: [] });
  const { pages, error = first.error } =
    kept.pages[0] === first.data ? kept : { pages: first.data ? [first.data] : [] };
  const pageToken = pages.at(-1)?.nextPageToken;
  const lines = pages.flatMap(({ access = [] }) => access);
  const more = () =>
    call("AdminService/ListAccess", { ...request, pageToken }).then(
      (page) => keep({ pages: [...pages, page] }),
      (error) => keep({ pages, error }),
    );
  if (aside && !lines.length && !pageToken) return null;
  if (error?.code === "permission_denied") {
    return (
      <Empty title="Only administrators see the access record">
        Ask an administrator of this server who read or exported a ledger.
      </Empty>
    );
  }
  if (error?.reason === "NO_IDENTITY") {
    return (
      <Empty title="No access record">
        A server that knows its callers (<code>--identity</code>) keeps one. This one does not.
      </Empty>
    );
  }
  return (
    <>
      {first.data && above}
      {children}
      {first.data && !aside && !request.refused && (
        <Record
          of={{ ...request, refused: true, knownCallers: true, pageSize: 20 }}
          title="Refused to known callers"
          aside
        />
      )}
      <Section
        title={title}
        side={
          <>
            {lines.length > 0 && <AccessFile of={request} />}
            <Button class="link" onClick={first.again}>
              Ask again
            </Button>
          </>
        }
      >
        {error && <Failed error={error} what="the access record" />}
        {lines.length > 0 && <Lines of={lines} />}
        {first.data && !lines.length && (
          <Empty title="Nothing found">{pageToken && "So far."}</Empty>
        )}
        {!first.data && !error && <Loading what="the access record" />}
        {pageToken && (
          <p class="more">
            <Button onClick={more}>Look further back</Button>
          </p>
        )}
      </Section>
    </>
  );
}

function AllTokens() {
  const { data } = useCall("AdminService/ListTokens", {});
  return (
    <>
      {data && (
        <Section title="Tokens">
          <Tokens of={data.tokens ?? []} />
        </Section>
      )}
    </>
  );
}

function Overview() {
  const registry = useCall("AuditService/GetCheckpoint", {}, generation.value);
  const healthy = useHealth("/healthz");
  const ready = useHealth("/readyz");
  const heard = lastHeard.value && fullWords(lastHeard.value);
  return (
    <>
      <div class="two">
        <Card title="The server">
          <Facts
            rows={[
              ["Answers calls", healthy],
              ["Everything provable", ready],
              ["This page", `${liveState.value}${heard ? `, last heard ${heard}` : ""}`],
              ["Figures", <a href={urlOf("/metrics")}>for Prometheus</a>],
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
    </>
  );
}

export function Activity() {
  const asked = accessRequest();
  const ledger = asked?.resource;
  return (
    <>
      <Title
        title="Activity"
        about={
          ledger ? (
            <>
              Who read, exported or was refused{" "}
              <A href={ledgerAddress(ledger)}>
                <Name of={shortName(ledger)} />
              </A>
              .
            </>
          ) : (
            "Who used the server for what, and how the server is."
          )
        }
      />
      {!asked && <Overview />}
      <Record of={asked ?? {}} title="Access record" above={!asked && <AllTokens />}>
        <Filter />
        <p class="footnote">
          Reads are added up by the minute, and are on record when it is over. Appends are not: each
          entry of a ledger names its caller. Lists, and questions about a data set, name no ledger.
        </p>
      </Record>
    </>
  );
}
