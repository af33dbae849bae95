// What a reader of the data sets must act on: the server's list, the gravest first.
import type { ComponentChildren } from "preact";
import type { AttentionItem, DatasetSummary, ListAttentionResponse } from "../api/types";
import type { Shape, Tone } from "../parts/icon";
import { datasetAddress, ledgerAddress } from "../router";
import { AndNames, Name, said, shortName } from "../text/names";

interface Item {
  shape: Shape;
  tone: Tone;
  title: ComponentChildren;
  text: ComponentChildren;
  href: string;
  link: string;
}

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

function shown({ reason, ledger, datasets = [], title, message }: AttentionItem): Item {
  const [shape, tone]: [Shape, Tone] = BROKEN.has(reason) ? ["refused", "bad"] : ["attend", "warn"];
  const of = ledger ? <Name of={shortName(ledger)} /> : <AndNames of={datasets} />;
  return {
    shape,
    tone,
    title: (
      <>
        {of}: {said(title)}
      </>
    ),
    text: said(message),
    href: ledger ? ledgerAddress(ledger) : datasetAddress(datasets[0]),
    link: ledger ? "Open ledger" : "See runs",
  };
}

export const attention = ({ items = [] }: ListAttentionResponse, witnessed: boolean): Item[] => [
  ...items.map(shown),
  ...(witnessed ? [] : [NO_WITNESS]),
];
