// All checks of a ledger, in order, each reported by itself, and of several ledgers whether a
// budget among them was kept. A check holds, fails, or could not be made; after a failure those
// that need it are not made, and say so. It fails only where the evidence contradicts itself or
// what the reader knows; a cut file or another server's key do not.
import { base64, hex, strictBase64 } from "../api/bytes";
import { grouped, plural } from "../text/numbers";
import { fullWords } from "../text/dates";
import { BudgetCheck } from "./budget_check";
import { CostCheck } from "./cost_check";
import { DocumentCheck } from "./document_check";
import { EntriesCheck } from "./entries_check";
import { FromBundle } from "./from_bundle";
import { FromServer } from "./from_server";
import type { Check, CheckId, End, Job, Message, Outcome, Witness } from "./job";
import { Difference, ed25519, LOG_KEY, parseKey, signersOf, WITNESS_KEY } from "./note";
import type { Verify, VerifierKey } from "./note";
import { checkHead } from "./registry";
import { Lost, type Opening, type Source } from "./source";
import { consistent, same } from "./tree";

const TITLES: Record<CheckId, string> = {
  signature: "Signature",
  registry: "In the registry",
  entries: "All entries",
  formed: "Well formed",
  document: "Document",
  cost: "Cost",
  history: "Same history as before",
  key: "Key",
  witness: "Witness",
  budget: "Budget",
};
const OF_ONE = (Object.keys(TITLES) as CheckId[]).filter((id) => id !== "budget");
const capital = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());
const short = (bytes: Uint8Array) => `${hex(bytes).slice(0, 8)}…${hex(bytes).slice(-4)}`;

interface Signers {
  ofLedger: VerifierKey[];
  ofRegistry: VerifierKey[];
}
const isAmong = (keys: VerifierKey[]) => (key: VerifierKey) =>
  keys.some((one) => same(one.bytes, key.bytes));
const idsOf = (keys: VerifierKey[]) => keys.map((key) => key.id).join(", ");

class Checks {
  private readonly start = performance.now();
  private last = this.start;
  private readonly made = new Set<CheckId>();
  step: CheckId = "signature"; // that is being made: what fails now fails it
  entries: EntriesCheck | undefined;
  private recomputed: CostCheck | undefined;
  private priced = 0; // of how many of the first entries the cost is recomputed
  private readonly source: Source;
  private readonly of: string | undefined;

  constructor(
    private readonly job: Job,
    file: File | undefined, // none: from the job's server
    private readonly budget: BudgetCheck | undefined, // where there are several
    private readonly send: (message: Message) => void,
    private readonly fallback: () => Promise<Verify>,
  ) {
    this.source = file ? new FromBundle(file) : new FromServer(job.server!);
    this.of = budget && file?.name;
  }

  report(id: CheckId, outcome: Outcome, text: string, more: Partial<Check> = {}) {
    if (this.made.has(id)) return;
    this.made.add(id);
    const now = performance.now();
    const ms = now - this.last;
    const check = { id, outcome, title: TITLES[id], text, of: this.of, ms, ...more };
    this.send({ type: "check", check });
    this.last = now;
  }
  rest(why: string) {
    const asked = OF_ONE.filter((id) => id !== "document" || this.job.document);
    for (const id of asked) this.report(id, "none", why, { ms: undefined });
  }

  async all(): Promise<End> {
    const given = this.job.given.map(parseKey);
    const brought = [...given, ...this.job.kept.map(parseKey)];
    const { verify, own } = await ed25519(this.fallback);
    const opening = await this.source.opening();
    const trusted = brought.filter((key) => key.type === LOG_KEY);
    const signers = await this.signature(opening, trusted, verify, own);
    await this.registryAndEntries(opening);
    await this.cost(opening);
    await this.history(opening);
    this.key(opening, trusted, signers);
    await this.witness(opening, brought, verify);
    const { ledger, registry } = opening;
    const { origin, size, root, text } = registry;
    return {
      size: String(ledger.size),
      key: signers.ofLedger[0].text,
      note: ledger.text,
      registry: { origin, size: String(size), root: base64(root), note: text },
      ms: performance.now() - this.start,
    };
  }

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
    const ofLedger = await signersOf(ledger, known, verify);
    const ofRegistry = await signersOf(registry, known, verify);
    if (!ofLedger.length || !ofRegistry.length) {
      throw new Difference("no key that came along has signed the checkpoint");
    }
    const by = own ? ", by this page’s own code: the browser has none here" : "";
    const what = "The ledger’s checkpoint and the registry’s are signed";
    this.report("signature", "held", `${what} by key ${ofLedger[0].id} (Ed25519${by}).`);
    return { ofLedger, ofRegistry };
  }

  private async registryAndEntries({ ledger, registry, evidence }: Opening) {
    this.step = "registry";
    const points = checkHead(evidence, ledger, registry);
    const { server } = this.job;
    if (server && ledger.origin !== `${registry.origin}/${server.ledger}`) {
      throw new Difference("the checkpoint is another ledger’s");
    }
    const earlier = points.length - 1;
    const after = earlier ? `, after ${plural(earlier, "earlier one")} that it begins with` : "";
    this.report(
      "registry",
      "held",
      `The registry of ${grouped(registry.size)} entries has exactly one latest head of this ` +
        `ledger: size ${grouped(ledger.size)}, with this root${after}.`,
    );

    this.step = "entries";
    const total = Number(ledger.size);
    const document = this.job.document && new DocumentCheck(this.job.document);
    this.priced = Math.min(total, Number(this.job.size ?? total));
    this.recomputed = await CostCheck.begin(this.job.accountant, this.priced);
    this.budget?.begin(ledger.origin, registry.origin);
    const costs = [this.recomputed, ...(this.budget ? [this.budget] : [])];
    const entries = new EntriesCheck(points, total, document, costs, this.priced);
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
    if (document) {
      const { outcome, text } = document.verdict(ledger.origin);
      this.report("document", outcome, text);
    }
  }

  // What the entries cost, of the ledger as its server names it.
  private async cost({ ledger, registry }: Opening) {
    this.step = "cost";
    if (this.entries!.wrong) {
      return this.report("cost", "none", "Not recomputed here: the ledger is not well formed.");
    }
    const { delta, method, size } = this.job;
    const claim = await this.source.claim(BigInt(this.priced), delta, method);
    const name = ledger.origin.slice(registry.origin.length + 1);
    const root = this.entries!.rootThen!;
    const { outcome, text } = this.recomputed!.verdict({ name, root, claim, delta, method });
    const [some, total] = [this.priced, Number(ledger.size)].map(grouped);
    const asked = size && Number(size) > Number(ledger.size);
    const all = asked ? `Of all ${total} entries; there are no ${grouped(size)}. ` : "";
    const of = some === total ? all : `Of the first ${some} of ${total} entries. `;
    this.report("cost", outcome, of + text);
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
    const when = `${fullWords(seen.time)} (size ${grouped(seen.size)})`;
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

  // Trusted is what signed the registry, which names all else.
  private key({ registry, keys }: Opening, trusted: VerifierKey[], signers: Signers) {
    this.step = "key";
    const { id } = signers.ofRegistry[0];
    const { origin } = registry;
    const given = trusted.filter((key) => this.job.given.includes(key.text));
    const signer = trusted.find(isAmong(signers.ofRegistry));
    if (signer) {
      const yours = `Key ${signer.id}, which you ${given.includes(signer) ? "gave" : "keep"}`;
      const what = isAmong(signers.ofLedger)(signer) ? "both" : "the registry’s checkpoint";
      return this.report("key", "held", `${yours}, signed ${what}.`);
    }
    const named = trusted.filter((key) => key.name === origin);
    const strange = named.find((key) => !isAmong(keys)(key));
    if (strange) {
      const words = `your key ${strange.id} has this registry’s name, ${origin}, but has not`;
      throw new Difference(
        `${words} signed it, and it does not know that key. It was signed by ${id}`,
      );
    }
    if (named.length) {
      const words = `Your key ${idsOf(named)} is one that this registry names, but it did not sign`;
      return this.report("key", "missing", `${words} this checkpoint. Key ${id} did.`);
    }
    if (given.length) {
      const names = [...new Set(given.map((key) => key.name))].join(", ");
      const words = `You gave a key of ${names}. This is another server’s registry, ${origin}`;
      return this.report("key", "missing", `${words}: your key says nothing of it.`);
    }
    const seen = this.job.seen?.[origin];
    const first = seen && fullWords(seen.firstSeen);
    const from = this.job.server ? "that this server sent" : "that stands in the bundle";
    const since = this.job.server && seen ? `, first seen on ${first}` : "";
    const other =
      seen && seen.key !== signers.ofLedger[0].text
        ? " It is not the key that this browser saw before."
        : "";
    const kept = trusted.length ? " None of the keys that you keep has its name." : "";
    const words = `You did not give a key of your own. It is the one ${from}${since}.`;
    this.report("key", "none", `${words}${other}${kept}`);
  }

  private async witness({ registry, keys }: Opening, brought: VerifierKey[], verify: Verify) {
    this.step = "witness";
    const own = brought.filter((key) => key.type === WITNESS_KEY);
    const checked = (await signersOf(registry, own, verify)).map((key) => key.name);
    const others = registry.signatures.filter((one) => keys.every((key) => key.id !== one.id));
    const said = new Set(others.map((one) => one.name));
    const names = [...new Set([...said, ...own.map((key) => key.name)])].sort();
    const isOf = (name: string) => (key: VerifierKey) => key.name === name;
    const witnesses = names.map((name): Witness => {
      if (checked.includes(name)) return { name, is: "checked" };
      if (!said.has(name)) return { name, is: "absent" };
      return { name, is: own.some(isOf(name)) ? "other" : "said" };
    });
    const listed = (is: Witness["is"]) => witnesses.filter((one) => one.is === is);
    const namesOf = (is: Witness["is"]) =>
      listed(is)
        .map((one) => one.name)
        .join(", ");
    const report = (outcome: Outcome, text: string) =>
      this.report("witness", outcome, text, { witnesses });
    if (listed("other").length) {
      const words = `This registry is cosigned in the name of ${namesOf("other")}, by another key`;
      return report("failed", `${words} than the one that you trust.`);
    }
    const isGiven = ({ name }: Witness) =>
      own.some((key) => key.name === name && this.job.given.includes(key.text));
    const missing = listed("absent")
      .filter(isGiven)
      .map((one) => one.name);
    if (missing.length) {
      const words = `${missing.join(", ")}, whose key you gave, did not cosign this registry`;
      return report("missing", `${words}. The server could show others a different history.`);
    }
    if (listed("checked").length) {
      const words = `This registry is cosigned by ${namesOf("checked")}, whose keys you trust.`;
      return report("held", words);
    }
    const unknown = "No witness is known: nobody cosigned. The server could show others";
    const words = namesOf("said")
      ? `It says that it is cosigned by ${namesOf("said")}, but you gave no key of theirs to ` +
        "check that with."
      : `${unknown} a different history.`;
    report("none", words);
  }
}

async function checkOne(checks: Checks): Promise<End | undefined> {
  try {
    return await checks.all();
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof Lost) {
      const read = checks.entries && `${grouped(checks.entries.tree.size)} entries were read. `;
      const stopped = { title: error.title, meaning: error.meaning };
      checks.report(checks.step, "unfinished", `${read ?? ""}${capital(message)}.`, { stopped });
      checks.rest("Not made: the evidence is not whole.");
      return undefined;
    }
    const different = error instanceof Difference;
    const words = different ? message : `the evidence cannot be read: ${message}`;
    const { expected, found } = different ? error : ({} as Partial<Difference>);
    checks.report(checks.step, "failed", `${capital(words)}.`, { expected, found });
    checks.rest("Not made, because of what failed before.");
    return undefined;
  }
}

export async function check(
  job: Job,
  send: (message: Message) => void,
  fallback: () => Promise<Verify>,
): Promise<void> {
  const files = job.files ?? [undefined];
  if (files.length > 1) job = { ...job, document: undefined };
  const budget = files.length > 1 ? await BudgetCheck.begin(job.accountant) : undefined;
  const ends: End[] = [];
  for (const file of files) {
    const end = await checkOne(new Checks(job, file, budget, send, fallback));
    if (end) ends.push(end);
  }
  const whole = ends.length === files.length;
  if (budget) {
    const none = { outcome: "none" as const, text: "Not made, because of what failed before." };
    const verdict = whole ? budget.verdict() : none;
    send({ type: "check", check: { id: "budget", title: TITLES.budget, ...verdict } });
  }
  if (!whole) return;
  const sum = (of: (end: End) => number) => ends.reduce((before, end) => before + of(end), 0);
  const [size, ms] = [sum((end) => Number(end.size)), sum((end) => end.ms)];
  send({ type: "end", end: { ...ends[0], size: String(size), ms } });
}
