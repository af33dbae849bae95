// All checks of one ledger, in order, each reported by itself. A check holds, fails, or could not
// be made; after a failure those that need it are not made, and say so.
import { base64, hex, strictBase64 } from "../api/bytes";
import { grouped } from "../text/numbers";
import { dateWords } from "../text/dates";
import { EntriesCheck } from "./entries_check";
import { FromBundle } from "./from_bundle";
import { FromServer, type Place } from "./from_server";
import type { Seen } from "./kept";
import { Difference, ed25519, LOG_KEY, parseKey, signersOf, WITNESS_KEY } from "./note";
import type { Verify, VerifierKey } from "./note";
import { checkHead } from "./registry";
import { Lost, type Opening, type Source } from "./source";
import { consistent, same } from "./tree";

export type Outcome = "held" | "failed" | "none" | "unfinished";
type CheckId = "signature" | "entries" | "formed" | "registry" | "history" | "key" | "witness";
export interface Check {
  id: CheckId;
  outcome: Outcome;
  title: string;
  text: string;
  ms?: number;
  bytes?: number;
  expected?: string;
  found?: string;
}
export interface Job {
  // One of the two.
  server?: Place;
  file?: Blob;
  keys: string; // verifier keys that the reader brought, a line each
  seen?: Record<string, Seen>; // by origin
}
export interface End {
  size: string;
  key: string; // that signed
  note: string;
  registry: { origin: string; size: string; root: string; note: string };
  ms: number;
}
export type Message =
  | { type: "check"; check: Check }
  | { type: "progress"; done: number; total: number; bytes: number }
  | { type: "end"; end: End };

const TITLES: Record<CheckId, string> = {
  signature: "Signature",
  registry: "In the registry",
  entries: "All entries",
  formed: "Well formed",
  history: "Same history as before",
  key: "Key",
  witness: "Witness",
};
const ORDER = Object.keys(TITLES) as CheckId[];
const short = (bytes: Uint8Array) => `${hex(bytes).slice(0, 8)}…${hex(bytes).slice(-4)}`;

class Checks {
  private readonly start = performance.now();
  private last = this.start;
  private readonly made = new Set<CheckId>();
  step: CheckId = "signature"; // that is being made: what fails now fails it
  entries: EntriesCheck | undefined;
  private readonly source: Source;

  constructor(
    private readonly job: Job,
    private readonly send: (message: Message) => void,
    private readonly fallback: () => Promise<Verify>,
  ) {
    this.source = job.server ? new FromServer(job.server) : new FromBundle(job.file!);
  }

  report(id: CheckId, outcome: Outcome, text: string, more: Partial<Check> = {}) {
    if (this.made.has(id)) return;
    this.made.add(id);
    const now = performance.now();
    const ms = now - this.last;
    this.send({ type: "check", check: { id, outcome, title: TITLES[id], text, ms, ...more } });
    this.last = now;
  }
  rest(why: string) {
    for (const id of ORDER) this.report(id, "none", why, { ms: undefined });
  }

  async all() {
    const lines = this.job.keys.split("\n").map((line) => line.trim());
    const brought = lines.filter(Boolean).map(parseKey);
    const { verify, own } = await ed25519(this.fallback);
    const opening = await this.source.opening();
    const trusted = brought.filter((key) => key.type === LOG_KEY);
    const signers = await this.signature(opening, trusted, verify, own);
    await this.registryAndEntries(opening);
    await this.history(opening);
    this.key(opening, trusted, signers);
    const witnesses = brought.filter((key) => key.type === WITNESS_KEY);
    await this.witness(opening, witnesses, verify);
    const { ledger, registry } = opening;
    const { origin, size, root, text } = registry;
    this.send({
      type: "end",
      end: {
        size: String(ledger.size),
        key: signers[0].text,
        note: ledger.text,
        registry: { origin, size: String(size), root: base64(root), note: text },
        ms: performance.now() - this.start,
      },
    });
  }

  // Returns the keys that signed, the ledger's checkpoint first.
  private async signature(
    { ledger, registry, keys }: Opening,
    trusted: VerifierKey[],
    verify: Verify,
    own: boolean,
  ) {
    if (keys.some((key) => key.name !== registry.origin || key.type !== LOG_KEY)) {
      throw new Difference("a key is named for another registry");
    }
    // Without a key of the reader's own, those that came along: what is shown then agrees with
    // itself.
    const known = [...keys, ...trusted];
    const signers = await signersOf(ledger, known, verify);
    const ofRegistry = await signersOf(registry, known, verify);
    if (!signers.length || !ofRegistry.length) {
      throw new Difference("no key that came along has signed the checkpoint");
    }
    const by = own ? ", by this page’s own code: the browser has none here" : "";
    const what = "The ledger’s checkpoint and the registry’s are signed";
    this.report("signature", "held", `${what} by key ${signers[0].id} (Ed25519${by}).`);
    return [...signers, ...ofRegistry];
  }

  private async registryAndEntries({ ledger, registry, evidence }: Opening) {
    this.step = "registry";
    const points = checkHead(evidence, ledger, registry);
    const { server } = this.job;
    if (server && ledger.origin !== `${registry.origin}/${server.ledger}`) {
      throw new Difference("the checkpoint is another ledger’s");
    }
    const before = grouped(points.length - 1);
    const after = points.length > 1 ? `, after ${before} earlier ones that it begins with` : "";
    this.report(
      "registry",
      "held",
      `The registry of ${grouped(registry.size)} entries has exactly one latest head of this ` +
        `ledger: size ${grouped(ledger.size)}, with this root${after}.`,
    );

    this.step = "entries";
    const total = Number(ledger.size);
    const entries = new EntriesCheck(points, total);
    this.entries = entries;
    let [bytes, shown] = [0, 0];
    await this.source.entries(entries, (more) => {
      bytes += more;
      if (performance.now() - shown < 100) return;
      shown = performance.now();
      this.send({ type: "progress", done: entries.tree.size, total, bytes });
    });
    const root = entries.tree.root();
    if (!same(root, ledger.root)) {
      const first = await this.source.firstWrong?.(entries).catch(() => undefined);
      const what = "is the first that differs from the hashes which the server keeps";
      const where = first === undefined ? "" : `: entry ${grouped(first)} ${what}`;
      const sent = `the ${grouped(total)} entries that were sent`;
      const words = `${sent} are not the ones that were signed${where}`;
      throw new Difference(words, hex(ledger.root), hex(root));
    }
    const hashed = `${grouped(total)} entries were hashed; their tree has the signed root`;
    this.report("entries", "held", `${hashed} ${short(root)}.`, { bytes });
    const sealed = points.at(-1)!.state === 2;
    if (entries.wrong) this.report("formed", "failed", entries.wrong);
    else if (entries.sealed && !sealed) {
      const words = "The ledger has a seal, and the registry says that it is open.";
      this.report("formed", "failed", words);
    } else if (sealed && !entries.sealed) {
      const words = "The registry says that the ledger is sealed, and it has no seal.";
      this.report("formed", "failed", words);
    } else {
      this.report(
        "formed",
        "held",
        "Numbers run from 0 without a gap, each entry says its own number and its writer’s, " +
          "times never go back.",
      );
    }
  }

  private async history({ registry }: Opening) {
    this.step = "history";
    const none = (text: string) => this.report("history", "none", text);
    const seen = this.job.seen?.[registry.origin];
    if (!seen) {
      const words = "This browser had not seen this registry before. From now on it remembers its";
      return none(`${words} size and root.`);
    }
    const before = BigInt(seen.size);
    const when = `${dateWords(seen.time)} (size ${grouped(seen.size)})`;
    const one = `the one that this browser saw on ${when}`;
    if (before > registry.size) {
      const larger = `this browser saw a larger registry on ${when}`;
      if (this.job.server) throw new Difference(`${larger}. The server shows an older one now`);
      const older = `The bundle is older than the registry that this browser saw on ${when}`;
      return none(`${older}; a bundle holds no proof between the two.`);
    }
    const root = strictBase64(seen.root) ?? new Uint8Array();
    const proof =
      before === registry.size ? [] : await this.source.consistency?.(before, registry.size);
    if (!proof) return none(`A bundle holds no proof that its registry extends ${one}.`);
    if (!consistent(before, root, registry.size, registry.root, proof)) {
      const words = `the registry is not a continuation of ${one}`;
      throw new Difference(`${words}. One of the two histories is false`, hex(root));
    }
    this.report("history", "held", `The registry extends ${one}.`);
  }

  private key({ registry }: Opening, trusted: VerifierKey[], signers: VerifierKey[]) {
    this.step = "key";
    const isSigner = (key: VerifierKey) => signers.some((one) => same(one.bytes, key.bytes));
    const given = trusted.find(isSigner);
    if (given) return this.report("key", "held", `Key ${given.id}, which you gave, signed both.`);
    const { id, text } = signers[0];
    if (trusted.length) {
      const ids = trusted.map((key) => key.id).join(", ");
      const words = `none of the keys that you gave signed this (${ids})`;
      throw new Difference(`${words}. It was signed by ${id}`);
    }
    const seen = this.job.seen?.[registry.origin];
    const first = seen && new Date(seen.firstSeen).toLocaleDateString();
    const from = this.job.server ? "that this server sent" : "that stands in the bundle";
    const since = this.job.server && seen ? `, first seen on ${first}` : "";
    const other =
      seen && seen.key !== text ? " It is not the key that this browser saw before." : "";
    const words = `You did not give a key of your own. It is the one ${from}${since}.${other}`;
    this.report("key", "none", words);
  }

  private async witness({ registry, keys }: Opening, witnesses: VerifierKey[], verify: Verify) {
    this.step = "witness";
    const cosigned = await signersOf(registry, witnesses, verify);
    if (cosigned.length < witnesses.length) {
      throw new Difference("a witness whose key you gave did not cosign this registry");
    }
    if (cosigned.length) {
      const names = cosigned.map((key) => key.name).join(", ");
      const words = `This registry is cosigned by ${names}, whose keys you gave.`;
      return this.report("witness", "held", words);
    }
    const others = registry.signatures.filter((one) => keys.every((key) => key.id !== one.id));
    const names = others.map((one) => one.name).join(", ");
    const unknown = "No witness is known: nobody cosigned. The server could show others";
    const words = names
      ? `It says that it is cosigned by ${names}, but you gave no key of theirs to check that with.`
      : `${unknown} a different history.`;
    this.report("witness", "none", words);
  }
}

export async function check(
  job: Job,
  send: (message: Message) => void,
  fallback: () => Promise<Verify>,
): Promise<void> {
  const checks = new Checks(job, send, fallback);
  try {
    await checks.all();
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof Lost) {
      const read = checks.entries && `${grouped(checks.entries.tree.size)} entries were read. `;
      checks.report(checks.step, "unfinished", `${read ?? ""}${message}.`);
      return checks.rest("Not made: the evidence is not whole.");
    }
    const different = error instanceof Difference;
    const words = different ? message : `the evidence cannot be read: ${message}`;
    const { expected, found } = different ? error : ({} as Partial<Difference>);
    const sentence = words.replace(/^./, (letter) => letter.toUpperCase());
    checks.report(checks.step, "failed", `${sentence}.`, { expected, found });
    checks.rest("Not made, because of what failed before.");
  }
}
