// Whether a register of statements (docs/statements.md) holds a document: its entries are notes of
// JSON, of which one has the document's SHA-256, and a later one may withdraw that statement.
import type { StatementNote } from "../api/types";
import { BODY, noteText, scan } from "./scan";

// Of a statement that somebody was handed.
export interface Document {
  name: string;
  sha256: string; // in hexadecimal
}
export class DocumentCheck {
  private issued: StatementNote["issued"];
  private withdrawal: StatementNote["withdrawal"];
  private unread: number | undefined; // the first entry that should be a note, and cannot be read

  constructor(private readonly document: Document) {}

  // Every entry, in order. The first one is the declaration.
  take(bytes: Uint8Array, from: number, to: number) {
    const { body, sequence, from: start, to: end } = scan(bytes, from, to);
    if (body !== BODY.note) return;
    let note: StatementNote;
    try {
      note = JSON.parse(noteText(bytes, start, end));
    } catch {
      this.unread ??= sequence;
      return;
    }
    const { issued, withdrawal } = note;
    if (issued && [issued.htmlSha256, issued.markdownSha256].includes(this.document.sha256))
      this.issued = issued;
    if (withdrawal && withdrawal.number === this.issued?.number) this.withdrawal = withdrawal;
  }

  // `origin`: of the ledger whose entries were taken.
  verdict(origin: string): { outcome: "held" | "missing"; text: string } {
    const { name } = this.document;
    if (!origin.endsWith("/projects/statements/ledgers/register"))
      return { outcome: "missing", text: `This is no register of statements: ${origin}.` };
    if (this.unread !== undefined)
      return { outcome: "missing", text: `Entry ${this.unread} of the register cannot be read.` };
    if (!this.issued) {
      const why = "it was changed, was not issued, or was issued later or by another server";
      return { outcome: "missing", text: `No entry has the SHA-256 of ${name}: ${why}.` };
    }
    const { number, issuer = {}, issueTime = "" } = this.issued;
    const who = [issuer.name, issuer.role, issuer.organization].join(", ");
    const what = `${name} is statement ${number}, stated by ${who}, on ${issueTime.slice(0, 10)}`;
    if (this.withdrawal)
      return { outcome: "missing", text: `${what}, and withdrawn: ${this.withdrawal.reason}.` };
    const until = issuer.validUntil;
    if (until && Date.parse(until) <= Date.now())
      return { outcome: "missing", text: `${what}. It was valid until ${until.slice(0, 10)}.` };
    const end = until ? `, and is valid until ${until.slice(0, 10)}` : "";
    return { outcome: "held", text: `${what}${end}.` };
  }
}
