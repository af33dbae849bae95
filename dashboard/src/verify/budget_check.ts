// Whether a budget was kept, from its bundle and those of runs under it, by the same code as
// `dpledger budget verify` (questions/budget_check.h).
import type { BudgetVerified } from "../api/types";
import { plural, textNear, textUp } from "../text/numbers";
import { shortName } from "../text/names";
import { Accountant } from "./accountant";
import type { Verdict } from "./cost_check";
import { AccountingError } from "./instance.js";

// What was not kept, or is told otherwise. All else is a reason why nothing was checked.
const BROKEN = ["BUDGET_EXCEEDED", "BUDGET_DIFFERS", "BLOCK_RETIRED", "BUDGET_ONLY"];

// As the page shows the ledgers of one registry.
const named = (origin: string) => shortName(origin.slice(origin.lastIndexOf("/projects/") + 1));

export class BudgetCheck {
  private constructor(private readonly accountant: Accountant) {}

  static async begin(inside: string | undefined): Promise<BudgetCheck> {
    return new BudgetCheck(await Accountant.start(inside));
  }
  // The next ledger, whose entries follow.
  begin(origin: string, registry: string) {
    this.accountant.ask((instance) => instance.beginHeld(origin, registry));
  }
  take(tile: Uint8Array) {
    this.accountant.ask((instance) => instance.addHeld(tile));
  }

  // Precondition: every ledger's entries are the ones that were signed.
  verdict(): Verdict {
    const answer = this.accountant.ask((instance) => instance.verifyBudget() as BudgetVerified);
    if (!answer) {
      const failure = this.accountant.failure!;
      const why = failure.message.replace(/\.$/, "");
      const reason = failure instanceof AccountingError ? failure.reason : "";
      return BROKEN.includes(reason)
        ? { outcome: "failed", text: `The budget was not kept: ${why}.` }
        : { outcome: "missing", text: `No budget was checked: ${why}.`, reason };
    }
    const { origin = "", spending = {}, grants = 0, runs = [], missing = [] } = answer;
    const { filter, bound = 0, spent = 0 } = spending;
    const kept =
      `Budget ${named(origin)} was kept, as far as these bundles tell: ` +
      `${plural(Number(grants), "grant")} fitted when made, ${textUp(Number(spent))} of ` +
      `${textNear(Number(bound))} is granted (${filter}), and no run here spent more than it was ` +
      "granted.";
    const each = runs.map(({ origin: run = "", spending: its = {} }) => {
      const { spent: used = 0, granted = 0 } = its;
      return `${named(run)} spent ${textUp(Number(used))} of ${textUp(Number(granted))}.`;
    });
    if (!missing.length) return { outcome: "held", text: [kept, ...each].join(" ") };
    const rest =
      `What ${missing.map(named).join(", ")} spent was not checked: no bundle is here that knows ` +
      "its last grant.";
    return { outcome: "missing", text: [kept, ...each, rest].join(" ") };
  }
}
