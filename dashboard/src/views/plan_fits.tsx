// Whether a run fits into what is left of a budget.
import type { ComputeBudgetResponse } from "../api/types";
import { shortName } from "../text/names";
import { grouped, number, textNear, textUp } from "../text/numbers";
import { planWords } from "./entries";

export function Fits({ of: answer }: { of: ComputeBudgetResponse }) {
  const { budget, spending = {}, fits = false, roundsLeft, withMoreNoise } = answer;
  const { retiredBlock, belowSpent, overspent = [] } = answer;
  return (
    <>
      <h3>In the budget {shortName(budget?.name)}</h3>
      <p>
        <strong>{fits ? "It fits." : "It does not fit."}</strong> {textUp(number(spending.spent))}{" "}
        of {textNear(number(spending.bound))} is granted, counted as {spending.filter}, and{" "}
        {textUp(number(answer.spentWithPlan))} would be with this run.{" "}
        {budget?.state === "SEALED"
          ? "The budget is sealed: nothing more is granted."
          : roundsLeft !== undefined && `${grouped(number(roundsLeft))} such rounds fit.`}
        {belowSpent && " The run has spent more than that already."}
        {overspent.length > 0 && " The budget is overspent: nothing is granted to other runs."}
        {number(retiredBlock) > 0 &&
          ` Block ${retiredBlock} is retired: a run on it gets nothing more.`}
        {withMoreNoise && ` With more noise it would fit: ${planWords([withMoreNoise])}.`}
      </p>
    </>
  );
}
