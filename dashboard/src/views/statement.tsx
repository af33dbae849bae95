// What can be signed: the full guarantee, in the fields that a publication should state. What the ledger does not know
// stays visibly open.
import { useState } from "preact/hooks";
import type { StatementSource } from "../api/types";
import { useCall } from "../api/use_call";
import { EpsilonBlock } from "../parts/epsilon";
import { A, Card, download, Empty, Failed, Hash, Loading, Section, Title } from "../parts/parts";
import { fromBase64, hex } from "../api/decode";
import { datasetAddress, go, ledgerAddress } from "../router";
import { Name, shortName, visible } from "../text/names";
import { count, grouped } from "../text/numbers";
import { Time } from "../text/time";
import { regimeOf, unitsOf } from "../text/words";
import { Icon } from "../parts/icon";
import { fullName, statementRequest } from "./requests";

const SOURCES: Record<StatementSource, string> = { SOURCE_UNSPECIFIED: "", DECLARED: "declared", RECORDED: "recorded", COMPUTED: "computed", NOT_STATED: "not stated" };

function Choose() {
  const ledgers = useCall("LedgerService/ListLedgers", { parent: "projects/-", pageSize: 500 });
  const [text, setText] = useState("");
  const names = [...new Set((ledgers.data?.ledgers ?? []).map((ledger) => ledger.declaration?.dataset ?? ""))];
  return <><Title title="Statement" about="The full guarantee of a ledger or of a data set, bound to a checkpoint." />
    <Card title="About what?"><form onSubmit={(event) => { event.preventDefault(); if (text) go(names.includes(text) ? `/statement?${new URLSearchParams({ dataset: text })}` : `/statement?${new URLSearchParams({ ledger: text })}`); }}>
      <label class="field">A ledger or a data set<input class="inline-field" list="known" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <datalist id="known">{names.map((name) => <option key={name} value={name}>data set</option>)}{(ledgers.data?.ledgers ?? []).map((ledger) => <option key={ledger.name} value={shortName(ledger.name ?? "")}>ledger</option>)}</datalist>
      <button class="button primary" type="submit">Write it</button></form></Card></>;
}

export function Statement({ ledger, dataset }: { ledger?: string; dataset?: string }) {
  return ledger || dataset !== undefined ? <Written ledger={ledger} dataset={dataset} /> : <Choose />;
}
function Written({ ledger, dataset }: { ledger?: string; dataset?: string }) {
  const statement = useCall("StatementService/GetStatement", statementRequest(ledger, dataset));
  const data = statement.data;
  const name = ledger ? shortName(fullName(ledger)) : dataset ?? "";
  const answer = data?.answer;
  return <>
    <Title trail={ledger ? <A href={ledgerAddress(fullName(ledger))}><Name of={name} /></A> : <A href={datasetAddress(name)}><Name of={name} /></A>} title={data?.title ? <Name of={data.title} whole /> : <>Statement about <Name of={name} /></>}
      about={data && <>Written <Time of={data.time} clock /> by version {data.version}, from what the checkpoints below cover.</>}
      actions={data && <><button type="button" class="button" onClick={() => download(`statement-${name}.md`, "text/markdown", data.markdown ?? "")}>Markdown</button>
        <button type="button" class="button" onClick={() => download(`statement-${name}.html`, "text/html", data.html ?? "")}>HTML</button>
        <button type="button" class="button" onClick={() => download(`statement-${name}.json`, "application/json", JSON.stringify({ ...data, markdown: undefined, html: undefined }, null, 2))}>JSON</button>
        <button type="button" class="button primary" onClick={() => print()}>Print</button></>} />
    {statement.error && <Failed error={statement.error} what="statements" again={statement.again} />}
    {!data && !statement.error && <Loading what="the statement" />}
    {data && <>
      <Card class="epsilon-card" title="">{answer?.epsilon ? <EpsilonBlock epsilon={answer.epsilon} details={answer.details} terms={{ delta: answer.delta ?? 0, unit: unitsOf(answer.details), adjacency: answer.details?.adjacency, regime: regimeOf(answer.details), group: count(answer.details?.groupSize) }} />
        : <div class="refused"><Icon shape="refused" size={28} /><div><p class="refused-title">No ε can be given</p><p>{visible(answer?.refusal?.message ?? "")}</p><p class="faint"><code>{answer?.refusal?.reason}</code></p></div></div>}
        {answer?.inWords && <div class="plain-words"><p>{visible(answer.inWords)}</p></div>}</Card>
      {(data.sections ?? []).map((section) => <Card key={section.heading} title={visible(section.heading ?? "")}><dl>{(section.fields ?? []).map((field) => <div key={field.name} class={`statement-field ${field.source === "NOT_STATED" ? "open" : ""}`}>
        <dt>{visible(field.label ?? field.name ?? "")}</dt><dd>{field.value ? field.value.split("\n").map((line, i) => <p key={i}>{visible(line)}</p>) : "not stated in the ledger"}</dd><dd class="source">{SOURCES[field.source ?? "SOURCE_UNSPECIFIED"] ?? field.source}</dd></div>)}</dl></Card>)}
      <Section title="Bound to"><div class="card">{(data.checkpoints ?? []).map((checkpoint) => <div key={checkpoint.ledger}><p><A href={`${ledgerAddress(checkpoint.ledger ?? "")}?size=${checkpoint.size ?? 0}`}><Name of={shortName(checkpoint.ledger ?? "")} /></A> at {grouped(checkpoint.size)} entries, root <Hash of={checkpoint.rootHash ? hex(fromBase64(checkpoint.rootHash)) : ""} />{!checkpoint.note && <span class="warn-text"> · not signed</span>}</p></div>)}
        {!data.checkpoints?.length && <Empty title="Nothing">This server names no checkpoint.</Empty>}</div></Section>
    </>}
  </>;
}
