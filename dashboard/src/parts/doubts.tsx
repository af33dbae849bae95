// What speaks against a number, in bars that nobody overlooks: releases that may be missing, a δ
// that is not well below 1/n, corrections.
import type { ComponentChildren } from "preact";
import type { AnswerDetails, MissingReleases } from "../api/types";
import { shortName, visible } from "../text/names";
import { number, plural } from "../text/numbers";

const Bar = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <p class="bar-note">
    <strong>{title}</strong> {children}
  </p>
);
// Its ledger is named where there are several.
const missingWords = ({ writer, reason }: MissingReleases, ledger?: string) =>
  `${ledger ? `${visible(shortName(ledger))}, ` : ""}${visible(writer)} (${visible(reason)})`;

export const isOfDelta = (warning: string) => warning.startsWith("delta is ");

// Whether a warning of the answer is told by a bar.
export const isBarred = (warning: string) =>
  isOfDelta(warning) || warning.includes(": this answer may be short: ");

export function Doubts({ of: { ledgers = [], warnings = [] } }: { of: AnswerDetails }) {
  const missing = ledgers.flatMap(({ name, missing = [] }) =>
    missing.map((one) => missingWords(one, ledgers.length > 1 ? name : undefined)),
  );
  const count = ledgers.reduce((sum, ledger) => sum + number(ledger.missingCount), 0);
  // Of one writer there may be several reasons.
  const writers = ledgers.flatMap((ledger) =>
    (ledger.missing ?? []).map(({ writer }) => `${ledger.name} ${writer}`),
  );
  const named = plural(new Set(writers).size, "writer");
  const more = count > missing.length ? " and more" : "";
  return (
    <>
      {count > 0 && (
        <Bar title="This may be short.">
          {`${named}${more} may hold releases that were never delivered`}:{" "}
          {missing.slice(0, 3).join("; ")}.
        </Bar>
      )}
      {warnings.filter(isOfDelta).map((warning) => (
        <Bar key={warning} title="δ is not well below 1/n.">
          {visible(warning)}.
        </Bar>
      ))}
      {ledgers.some((one) => one.corrections?.length) && (
        <Bar title={ledgers.length > 1 ? "The record is corrected." : "This record is corrected."}>
          The number is that of the entries as they were written; a correction says that some of
          them are wrong, and changes no number.
        </Bar>
      )}
    </>
  );
}
