// What a ledger cost: the number with all that it holds under, what an attacker gains, and how it
// was asked for.
import type {
  ComputeEpsilonRequest,
  ComputeEpsilonResponse,
  FilterSpending,
  Ledger,
} from "../api/types";
import { useCall, type Called } from "../api/use_call";
import { AsPlanned } from "../parts/as_planned";
import { Ask } from "../parts/ask";
import { EpsilonBlock, EpsilonWords, hasLower, termsOf, upper } from "../parts/epsilon";
import { Awaited, Card } from "../parts/parts";
import { visible } from "../text/names";
import { grouped, number, percentUp, textNear, textUp } from "../text/numbers";
import { attackWords, methodWords } from "../text/words";
import { Refused } from "./refused";

const FALSE_ALARM = 0.01;
interface Chances {
  success: number;
  found: number;
}
// What ε and δ alone allow (server/statement/attack.cc), a little above what rounding may take.
function chancesOf(epsilon: number, delta: number): Chances {
  const [up, down] = [Math.exp(epsilon), Math.exp(-epsilon)];
  const advantage = (1 - down + 2 * delta * down) / (1 + down);
  const found = Math.min(delta + up * FALSE_ALARM, 1 - down * (1 - delta - FALSE_ALARM));
  const outward = (chance: number) => Math.min(1, chance * (1 + 1e-12));
  return { success: outward((1 + advantage) / 2), found: outward(found) };
}

function PlainWords({ request, of: answer, unit, size }: PlainWordsProps) {
  const { subject, options } = request;
  const { epsilon, delta, details } = answer;
  const isOfFilter = details?.regime === "FILTER"; // of which no profile is known
  const asked = { subject, options, priors: [0.5], typeOneErrors: [FALSE_ALARM] };
  const call = useCall("AccountingService/ComputeProfile", isOfFilter ? undefined : asked, size);
  const { data, error } = call;
  // μ takes many times as long: nothing else waits for it.
  const fit = data && { subject, options, gaussianLeastDelta: 1e-10 };
  const { gaussianFit } = useCall("AccountingService/ComputeProfile", fit, size).data ?? {};
  const success = data?.bayesSuccess?.[0]?.success;
  const missed = data?.tradeOff?.[0]?.symmetric;
  const words = attackWords(details?.adjacency, visible(unit));
  if (words && !data && !isOfFilter) {
    const why = error ? `not known: ${visible(error.message)}` : "still being worked out";
    return (
      <div class="plain-words">
        <p class="faint">What an attacker gains is {why}</p>
      </div>
    );
  }
  const chances = isOfFilter
    ? chancesOf(upper(epsilon), number(delta))
    : success && missed && { success: upper(success), found: 1 - number(missed.lower) };
  if (!chances || !words) return null;
  const mu = upper(gaussianFit?.mu);
  return (
    <div class="plain-words">
      <p>
        If the guarantee holds, someone who sees all that these entries released, knows all other
        records, and held it for a coin toss {words.unknown}, tells it rightly with a chance of at
        most <strong>{percentUp(chances.success)}</strong>. Raising a false alarm on 1 in 100 of
        those {words.falsely}, they find on average at most{" "}
        <strong>{textUp(chances.found * 100)} in 100</strong> of those {words.rightly}.
        {isOfFilter &&
          " These chances follow from ε and δ alone, and may be larger than they need be."}
      </p>
      {gaussianFit?.mu && Number.isFinite(mu) && (
        <p class="faint">
          As one Gaussian: μ at most {textUp(mu)}, for δ from 10<sup>−10</sup> up.
        </p>
      )}
    </div>
  );
}
interface PlainWordsProps {
  request: ComputeEpsilonRequest;
  of: ComputeEpsilonResponse;
  unit: string;
  size: string | undefined;
}

// What was spent of what holds the ledger, which is no guarantee.
function Spending({ of: spending, isBound, isBudget }: SpendingProps) {
  const { filter, bound, spent, budget, granted, crossed } = spending;
  const most = textNear(number(bound));
  return (
    <p class="muted">
      {isBound && `The number is that of the filter’s whole bound: ${most}, counted as ${filter}. `}
      {isBudget ? "Granted of it" : "Spent"}: {textUp(number(spent))}
      {budget &&
        ` of ${textUp(number(granted))} that its budget has granted it, counted as ${filter}`}
      . That is no guarantee.
      {crossed && <strong> It is more than was granted: the budget is overspent.</strong>}
    </p>
  );
}
interface SpendingProps {
  of: FilterSpending;
  isBound: boolean;
  isBudget: boolean;
}

interface AnswerProps {
  request: ComputeEpsilonRequest;
  of: ComputeEpsilonResponse;
  ledger: Ledger;
}
function Answer({ request, of: answer, ledger: { declaration, size } }: AnswerProps) {
  const { epsilon = {}, plannedEpsilon, delta, details = {} } = answer;
  const planned = grouped(declaration?.plannedRounds);
  return (
    <EpsilonBlock epsilon={epsilon} details={details} terms={termsOf(details, delta)}>
      {plannedEpsilon && (
        <p class="muted">
          That is so far. If the plan of {planned} rounds is charged:{" "}
          <strong>
            <EpsilonWords epsilon={plannedEpsilon} delta={delta} />
          </strong>
        </p>
      )}
      {declaration?.kind !== "BUDGET" && <AsPlanned request={request} of={answer} version={size} />}
      {(details.filterSpending ?? []).map((spending) => (
        <Spending
          key={spending.ledger}
          of={spending}
          isBound={details.regime === "FILTER"}
          isBudget={declaration?.kind === "BUDGET"}
        />
      ))}
      {Number.isFinite(upper(epsilon)) && !hasLower(epsilon) && (
        <p class="faint">Method {methodWords(details.method)} proves an upper end only.</p>
      )}
    </EpsilonBlock>
  );
}

interface CostProps {
  ledger: Ledger;
  request: ComputeEpsilonRequest;
  of: Called<ComputeEpsilonResponse>;
}
export function Cost({ ledger, request, of: cost }: CostProps) {
  const { data, error } = cost;
  return (
    <Card class="epsilon-card">
      {data ? (
        <Answer request={request} of={data} ledger={ledger} />
      ) : error?.code === "failed_precondition" ? (
        <Refused message={error.message} code={error} />
      ) : (
        <Awaited of={cost} what="the cost" />
      )}
      {data && Number.isFinite(upper(data.epsilon)) && (
        <PlainWords
          request={request}
          of={data}
          unit={ledger.declaration?.unitOfPrivacy ?? "record"}
          size={ledger.size}
        />
      )}
      <Ask shown={Number(request.delta)} total={ledger.size} />
    </Card>
  );
}
