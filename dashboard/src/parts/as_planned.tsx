// Beside the bound of a filter or of an odometer: what the same events would cost as one plan.
import type { ComputeEpsilonRequest, ComputeEpsilonResponse } from "../api/types";
import { useCall } from "../api/use_call";
import { isOdometer } from "../text/words";
import { EpsilonWords } from "./epsilon";

interface AsPlannedProps {
  request: ComputeEpsilonRequest;
  of: ComputeEpsilonResponse;
  version: unknown; // as useCall's
}
export function AsPlanned({ request, of: { details }, version }: AsPlannedProps) {
  const isAsked = details?.regime === "FILTER" || isOdometer(details?.regime);
  const options = { ...request.options, asPlanned: true };
  const question = isAsked ? { ...request, options } : undefined;
  const { data } = useCall("AccountingService/ComputeEpsilon", question, version);
  if (!data) return null;
  return (
    <p class="muted">
      Had the same events been one plan, made without looking at outputs:{" "}
      <strong>
        <EpsilonWords epsilon={data.epsilon ?? {}} delta={data.delta} />
      </strong>
      . That is no guarantee: nothing says that they were.
    </p>
  );
}
