// Who did what to the record: the access record that a server with callers keeps, and how the server is.
import { useEffect, useState } from "preact/hooks";
import { call, CallError, headers } from "../api/client";
import { decodeEntry, fromBase64 } from "../api/decode";
import type { Access } from "../api/types";
import { useCall } from "../api/use_call";
import { generation, lastHeard, liveState } from "../live";
import { Chip } from "../parts/icon";
import { A, Card, Empty, Facts, Failed, Loading, Section, Title } from "../parts/parts";
import { ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { count, grouped, plural } from "../text/numbers";
import { Time } from "../text/time";

const REQUEST = { parent: "projects/-", pageSize: 1000 };
// Ledgers that the server itself keeps: one a month (docs/identity.md).
const RECORDS = /^projects\/access-record\//;
const LAST = 400; // entries of the newest record

interface Line extends Access { sequence: number }
function useRecord(ledger: string | undefined, size: number) {
  const [lines, setLines] = useState<Line[] | undefined>();
  const [error, setError] = useState<CallError | undefined>();
  useEffect(() => {
    if (!ledger) return;
    const control = new AbortController();
    call("LedgerService/ReadEntries", { ledger, firstSequence: String(Math.max(0, size - LAST)), pageSize: LAST }, control.signal).then((answer) => {
      const found: Line[] = [];
      for (const text of answer.entries ?? []) {
        const entry = decodeEntry(fromBase64(text));
        if (!entry.note?.text) continue;
        try {
          found.push({ ...(JSON.parse(entry.note.text) as Access), sequence: count(entry.sequence) });
        } catch { /* a note that is no access */ }
      }
      setLines(found.reverse());
      setError(undefined);
    }, (failed) => !control.signal.aborted && setError(failed));
    return () => control.abort();
  }, [ledger, size]);
  return { lines, error };
}

function useHealth() {
  const [state, setState] = useState<Record<string, string>>({});
  useEffect(() => {
    for (const path of ["/healthz", "/readyz"]) {
      const say = (words: string) => setState((old) => ({ ...old, [path]: words }));
      fetch(path, { headers: headers(), cache: "no-store" }).then(async (answer) => {
        const words = await answer.text(); // a body that is not read keeps its connection
        say(answer.ok ? "ok" : words.slice(0, 80));
      }, () => say("cannot be reached"));
    }
  }, [generation.value]);
  return state;
}

function what(line: Line): { text: preact.ComponentChildren; refused: boolean } {
  const about = (resource: string | undefined) => (resource ? <> on <Name of={resource} /></> : null);
  if (line.refused) return { refused: true, text: <>refused{line.refused.permission ? <> <code>{visible(line.refused.permission)}</code></> : " sign-in"}{about(line.refused.resource)}{line.refused.reason && <>: {visible(line.refused.reason)}</>}{count(line.refused.count) > 1 && `, ${grouped(line.refused.count)} times`}</> };
  if (line.administers) return { refused: false, text: <>administers: <code>{visible(line.administers.method ?? "")}</code>{about(line.administers.about)}</> };
  return { refused: false, text: <>{(line.reads ?? []).map((read, i) => <span key={i}>{i > 0 && "; "}<code>{visible(read.permission ?? "")}</code>{about(read.resource)}{count(read.count) > 1 && `, ${grouped(read.count)} times`}</span>)}</> };
}

export function Activity() {
  const ledgers = useCall("LedgerService/ListLedgers", REQUEST, generation.value);
  const registry = useCall("AuditService/GetCheckpoint", {}, generation.value);
  const tokens = useCall("AdminService/ListTokens", {});
  const health = useHealth();
  const records = (ledgers.data?.ledgers ?? []).filter((ledger) => RECORDS.test(ledger.name ?? "")).sort((a, b) => (a.name! < b.name! ? 1 : -1));
  const newest = records[0];
  const { lines, error } = useRecord(newest?.name, count(newest?.size));
  const note = registry.data?.note?.split("\n") ?? [];
  const signatures = note.filter((line) => line.startsWith("— ")).length;
  const refusals = (lines ?? []).filter((line) => line.refused);
  const recent = (lines ?? []).slice(0, 100);
  const state = (path: string) => (health[path] === "ok" ? <Chip shape="closed" tone="plain">yes</Chip> : health[path] ? <Chip shape="attend" tone="warn">{visible(health[path])}</Chip> : "asking");
  return <><Title title="Activity" about="Who did what to the record, and how the server is." />
    <div class="two"><Card title="The server"><Facts rows={[["Answers calls", state("/healthz")], ["Everything provable", state("/readyz")], ["This page", `${liveState.value}${lastHeard.value ? `, last heard ${new Date(lastHeard.value).toLocaleTimeString()}` : ""}`],
      ["Figures", <a href="/metrics">for Prometheus</a>]]} /></Card>
      <Card title="What it signs">{registry.error ? <Failed error={registry.error} what="the registry’s checkpoint" /> : <Facts rows={[["Registry", <Name of={note[0]} whole />], ["Entries", grouped(note[1] || 0)], ["Key", <code>{registry.data?.verifierKeys?.at(-1)?.split("+")[1] ?? ""}</code>], ["Keys so far", grouped(registry.data?.verifierKeys?.length ?? 0)], ["Witnesses", signatures > 1 ? plural(signatures - 1, "cosignature") : <span class="warn-text">none cosigned</span>]]} />}
        <p class="card-foot"><A href="/verify">Verify a ledger</A></p></Card></div>
    {tokens.data && <Section title="Tokens"><div class="card flush"><table class="rows"><thead><tr><th scope="col">Name</th><th scope="col">May</th><th scope="col">Made</th><th scope="col">Ends</th><th scope="col">Last used</th></tr></thead><tbody>{(tokens.data.tokens ?? []).map((token) => <tr key={token.id}><td data-label="Name" class="main"><Name of={token.name} /><small><code>{token.id}</code></small></td>
      <td data-label="May"><div>{(token.grants ?? []).map((grant) => `${grant.role} on ${grant.scope}${grant.dataSet ? ` over ${visible(grant.dataSet)}` : ""}`).join("; ")}</div></td><td data-label="Made"><Time of={token.createTime} clock /></td><td data-label="Ends"><span>{token.revokeTime ? <>revoked <Time of={token.revokeTime} clock /></> : token.expireTime ? <Time of={token.expireTime} clock /> : "never"}</span></td><td data-label="Last used">{token.lastUseTime ? <Time of={token.lastUseTime} /> : "not known"}</td></tr>)}</tbody></table></div></Section>}
    {ledgers.error && <Failed error={ledgers.error} what="the ledgers" again={ledgers.again} />}
    {ledgers.data && !newest && <Section title="Access record"><Empty title="No access record that you may read">A server that knows its callers (<code>--identity</code>) keeps one in ledgers of its own. This one does not, or your token does not reach it.</Empty></Section>}
    {newest && <>
      {error && <Failed error={error} what="the access record" />}
      {refusals.length > 0 && <Section title="Refused" side={plural(refusals.length, "refusal")}><Lines lines={refusals.slice(0, 20)} ledger={newest.name!} /></Section>}
      <Section title="Access record" side={<A href={ledgerAddress(newest.name!)}><Name of={shortName(newest.name!)} /></A>}>{lines ? <Lines lines={recent} ledger={newest.name!} /> : !error && <Loading what="the access record" />}</Section></>}
  </>;
}
function Lines({ lines, ledger }: { lines: Line[]; ledger: string }) {
  return <div class="card flush"><table class="rows"><thead><tr><th scope="col">Entry</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">From</th><th scope="col">When</th></tr></thead><tbody>{lines.map((line) => {
    const { text, refused } = what(line);
    return <tr key={line.sequence}><td data-label="Entry" class="num"><A href={`${ledgerAddress(ledger)}/entry/${line.sequence}`}>{grouped(line.sequence)}</A></td><td data-label="Who">{line.caller ? <Name of={line.caller} /> : <span class="faint">not known</span>}</td>
      <td data-label="What"><div>{refused && <Chip shape="refused" tone="bad">refused</Chip>} {text}</div></td><td data-label="From"><Name of={line.peer || "–"} /></td><td data-label="When"><Time of={line.time} clock /></td></tr>;
  })}</tbody></table></div>;
}
