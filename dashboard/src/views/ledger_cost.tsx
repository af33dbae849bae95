// What a ledger cost: the number with all that it holds under, what an attacker gains, and how it
// was asked for.
import type { ComponentChildren } from "preact";
import type {
  AnswerDetails,
  ComputeEpsilonRequest,
  ComputeEpsilonResponse,
  FilterSpending,
  Ledger,
  MissingReleases,
} from "../api/types";
import { useCall, type Called } from "../api/use_call";
import { Ask } from "../parts/ask";
import { EpsilonBlock, EpsilonWords, hasLower, termsOf, upper } from "../parts/epsilon";
import { Awaited, Card } from "../parts/parts";
import { visible } from "../text/names";
import { grouped, number, percentUp, plural, textNear, textUp } from "../text/numbers";
import { attackWords, methodWords } from "../text/words";
import { Refused } from "./refused";

const FALSE_ALARM = 0.01;
function PlainWords({ request, unit, adjacency, size }: PlainWordsProps) {
  const { subject, options } = request;
  const asked = { subject, options, priors: [0.5], typeOneErrors: [FALSE_ALARM] };
  const { data, error } = useCall("AccountingService/ComputeProfile", asked, size);
  // μ takes many times as long: nothing else waits for it.
  const fit = data && { subject, options, gaussianLeastDelta: 1e-10 };
  const { gaussianFit } = useCall("AccountingService/ComputeProfile", fit, size).data ?? {};
  const success = data?.bayesSuccess?.[0]?.success;
  const missed = data?.tradeOff?.[0]?.symmetric;
  const words = attackWords(adjacency, visible(unit));
  if (words && !data) {
    const why = error ? `not known: ${visible(error.message)}` : "still being worked out";
    return <p class="faint">What an attacker gains is {why}</p>;
  }
  if (!success || !missed || !words) return null;
  const mu = upper(gaussianFit?.mu);
  return (
    <div class="plain-words">
      <p>
        Someone who sees all that was released, and knows everything but {words.unknown}, guesses
        rightly with a chance of at most <strong>{percentUp(upper(success))}</strong>, where a coin
        toss gives 50 %. If they accept 1 false alarm in 100, they find at most{" "}
        <strong>{textUp((1 - number(missed.lower)) * 100)} in 100</strong> {words.found}.
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
  unit: string;
  adjacency: string | undefined;
  size: string | undefined;
}

const Warning = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <p class="bar-note">
    <strong>{title}</strong> {children}
  </p>
);
const missingWords = ({ writer, reason }: MissingReleases) =>
  `${visible(writer)} (${visible(reason)})`;
const isOfDelta = (warning: string) => warning.startsWith("delta is ");
// What makes the number less than the whole truth.
function Warnings({ of: { ledgers = [], warnings = [] } }: { of: AnswerDetails }) {
  const { missingCount, missing = [] } = ledgers[0] ?? {};
  // Of one writer there may be several reasons.
  const named = plural(new Set(missing.map(({ writer }) => writer)).size, "writer");
  const more = number(missingCount) > missing.length ? " and more" : "";
  const writers = `${named}${more} may hold releases that were never delivered`;
  return (
    <>
      {number(missingCount) > 0 && (
        <Warning title="This may be short.">
          {writers}: {missing.slice(0, 3).map(missingWords).join("; ")}.
        </Warning>
      )}
      {warnings.filter(isOfDelta).map((warning) => (
        <Warning key={warning} title="δ is not well below 1/n.">
          {visible(warning)}.
        </Warning>
      ))}
      {ledgers.some((one) => one.corrections?.length) && (
        <Warning title="This record is corrected.">
          The number is that of the entries as they were written; a correction says that some of
          them are wrong, and changes no number.
        </Warning>
      )}
    </>
  );
}

// What was spent of what holds the ledger, which is no guarantee.
function Spending({ of: spending, isBound, isBudget }: SpendingProps) {
  const { filter, bound, spent, budget, granted, crossed } = spending;
  const most = textNear(number(bound));
  return (
    <p class="muted">
      {isBound && `The number is that of the filter’s whole bound (${filter}: ${most}). `}
      {isBudget ? "Granted of it" : "Spent"}: {textUp(number(spent))}
      {budget && ` of ${textUp(number(granted))} that its budget has granted it (${filter})`}. That
      is no guarantee.
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
  of: ComputeEpsilonResponse;
  ledger: Ledger;
}
function Answer({ of: answer, ledger: { declaration } }: AnswerProps) {
  const { epsilon = {}, plannedEpsilon, delta, details = {} } = answer;
  const planned = grouped(declaration?.plannedRounds);
  return (
    <EpsilonBlock epsilon={epsilon} details={details} terms={termsOf(details, delta)}>
      <Warnings of={details} />
      {plannedEpsilon && (
        <p class="muted">
          That is so far. If the plan of {planned} rounds is charged:{" "}
          <strong>
            <EpsilonWords epsilon={plannedEpsilon} delta={delta} />
          </strong>
        </p>
      )}
      {(details.filterSpending ?? []).map((spending) => (
        <Spending
          key={spending.ledger}
          of={spending}
          isBound={details.regime === "FILTER"}
          isBudget={declaration?.kind === "BUDGET"}
        />
      ))}
      {!hasLower(epsilon) && (
        <p class="faint">{methodWords(details.method)} proves an upper end only.</p>
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
        <Answer of={data} ledger={ledger} />
      ) : error?.code === "failed_precondition" ? (
        <Refused message={error.message} code={error} />
      ) : (
        <Awaited of={cost} what="the cost" />
      )}
      {data && Number.isFinite(upper(data.epsilon)) && (
        <PlainWords
          request={request}
          unit={ledger.declaration?.unitOfPrivacy ?? "record"}
          adjacency={data.details?.adjacency}
          size={ledger.size}
        />
      )}
      <Ask shown={Number(request.delta)} total={ledger.size} />
    </Card>
  );
}
