// What a reader of the data sets must act on: the server's list, the gravest first.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call, CallError } from "../api/client";
import type { AttentionItem, DatasetSummary, ListAttentionResponse } from "../api/types";
import { Dialog } from "../parts/dialog";
import type { Shape, Tone } from "../parts/icon";
import { A, Button, Card, Failed, Notice } from "../parts/parts";
import { datasetAddress, ledgerAddress } from "../router";
import { AndNames, Name, said, shortName, visible } from "../text/names";
import { grouped, number, plural } from "../text/numbers";

interface Item {
  shape: Shape;
  tone: Tone;
  title: ComponentChildren;
  text: ComponentChildren;
  href: string;
  link: string;
  of?: AttentionItem; // absent: the page's own, of which nothing can be said
}

type Note = NonNullable<AttentionItem["note"]>;

// Why there is no total. One that is being worked out is not refused.
export const refusalOf = ({ refusal }: DatasetSummary) =>
  refusal?.reason === "UNDER_WAY" ? undefined : refusal;

const NO_WITNESS: Item = {
  shape: "unknown",
  tone: "plain",
  title: "No witness cosigns this record",
  text:
    "The server signs for itself. It could show you one history and someone else another, and " +
    "this page would not notice.",
  href: "/verify",
  link: "What this means",
};
// Where the number, or the record, is worth nothing as it stands.
const BROKEN = new Set<AttentionItem["reason"]>([
  "DAMAGED",
  "NO_BOUND",
  "OVERSPENT",
  "EPSILON_REFUSED",
]);

function shown(item: AttentionItem): Item {
  const { reason, ledger, datasets = [], title, message, note } = item;
  const [shape, tone]: [Shape, Tone] = note?.acknowledged
    ? ["held", "plain"]
    : BROKEN.has(reason)
      ? ["refused", "bad"]
      : ["attend", "warn"];
  const ofServer = !ledger && !datasets.length;
  const of = ledger ? <Name of={shortName(ledger)} /> : <AndNames of={datasets} />;
  return {
    shape,
    tone,
    title: (
      <>
        {ofServer ? "This server" : of}: {said(title)}
      </>
    ),
    text: (
      <>
        {said(message)}
        {note && <p class="faint">{noteWords(note)}</p>}
      </>
    ),
    href: ledger ? ledgerAddress(ledger) : ofServer ? "/activity" : datasetAddress(datasets[0]),
    link: ledger ? "Open ledger" : ofServer ? "See the server" : "See runs",
    of: item,
  };
}
function noteWords({ acknowledged, assignedTo, text, caller, time = "" }: Note): string {
  const said = acknowledged ? "Acknowledged" : "Open";
  const by = caller ? ` by ${caller}` : "";
  const parts = [
    `${said} ${time.slice(0, 10)}${by}`,
    assignedTo && `assigned to ${assignedTo}`,
    text,
  ];
  return visible(parts.filter(Boolean).join(": "));
}

interface SayProps {
  of: AttentionItem;
  close: () => void;
  done: () => void;
}
// What the reader says of an item, for everybody who is shown it.
function Say({ of: { id, ledger, datasets = [], note, title }, close, done }: SayProps) {
  const [text, setText] = useState(note?.text ?? "");
  const [assignedTo, setAssigned] = useState(note?.assignedTo ?? "");
  const [error, setError] = useState<CallError>();
  const say = (acknowledged: boolean) => async () => {
    const about = ledger ? { ledger } : datasets.length ? { dataset: datasets[0] } : {};
    try {
      await call("LedgerService/NoteAttention", { id, ...about, acknowledged, assignedTo, text });
      done();
    } catch (failed) {
      setError(failed as CallError);
    }
  };
  return (
    <Dialog title={`About “${visible(title)}”`} close={close}>
      <label class="field">
        Note
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label class="field">
        Assigned to
        <input value={assignedTo} onInput={(event) => setAssigned(event.currentTarget.value)} />
      </label>
      {error && <Failed error={error} what="your note" />}
      <p class="muted">
        It is kept, signed, in a ledger of the server’s. What is acknowledged stands last, as long
        as the same is the matter.
      </p>
      <div class="actions">
        <Button onClick={say(false)}>Keep it open</Button>
        <Button class="button primary" onClick={say(true)}>
          Acknowledge
        </Button>
      </div>
    </Dialog>
  );
}

interface AttentionProps {
  of: ListAttentionResponse;
  witnessed: boolean;
  again: () => void; // something was said
  more?: () => void; // asks for more of them; absent: there are as many as a page can have
}
export function Attention({ of: list, witnessed, again, more: show }: AttentionProps) {
  const [about, setAbout] = useState<AttentionItem>();
  const { items = [], total, acknowledged, unexamined } = list;
  const all = [...items.map(shown), ...(witnessed ? [] : [NO_WITNESS])];
  const more = number(total) - items.length;
  const open = number(total) - number(acknowledged) + (witnessed ? 0 : 1);
  const rest = number(unexamined) > 0 && (
    <p class="footnote" style="padding: 8px 20px">
      Not all: the cost of{" "}
      {plural(number(unexamined), "ledger or data set", "ledgers and data sets")} is not known yet.
    </p>
  );
  if (!all.length) return rest || null;
  return (
    <Card
      flush
      title={
        <>
          Needs attention <span class="faint">{grouped(open)}</span>
        </>
      }
    >
      {all.map(({ href, link, text, of, ...item }) => (
        <Notice
          key={of?.id}
          {...item}
          action={
            <>
              <A href={href}>{link}</A> {of && <Button onClick={() => setAbout(of)}>Note…</Button>}
            </>
          }
        >
          {text}
        </Notice>
      ))}
      {more > 0 && (
        <p class="footnote" style="padding: 8px 20px">
          {show ? (
            <Button onClick={show}>Show {grouped(more)} more, none graver</Button>
          ) : (
            <>
              and {grouped(more)} more: <code>dpledger attention</code> lists them all
            </>
          )}
        </p>
      )}
      {rest}
      {about && (
        <Say
          of={about}
          close={() => setAbout(undefined)}
          done={() => {
            setAbout(undefined);
            again();
          }}
        />
      )}
    </Card>
  );
}
