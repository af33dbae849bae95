// What a history of events costs, as certified intervals (README.md).
import type {
  AuditClaimRequest,
  AuditClaimResponse,
  CalibrateRequest,
  CalibrateResponse,
  ComputeDeltaRequest,
  ComputeDeltaResponse,
  ComputeEpsilonRequest,
  ComputeEpsilonResponse,
  ComputeProfileRequest,
  ComputeProfileResponse,
  ComputeTuningCostRequest,
  ComputeTuningCostResponse,
  Subject,
} from "./messages.js";

export type * from "./messages.js";
export { AccountingError, Stopped } from "./instance.js";

export function epsilon(question: ComputeEpsilonRequest): Promise<ComputeEpsilonResponse>;
export function delta(question: ComputeDeltaRequest): Promise<ComputeDeltaResponse>;
export function calibrate(question: CalibrateRequest): Promise<CalibrateResponse>;
export function tuning(question: ComputeTuningCostRequest): Promise<ComputeTuningCostResponse>;
export function profile(question: ComputeProfileRequest): Promise<ComputeProfileResponse>;
export function audit(question: AuditClaimRequest): Promise<AuditClaimResponse>;

export function dpSgd(run: {
  noiseMultiplier: number; // the noise's standard deviation over the clipping norm
  samplingProbability: number; // of each record, in each step
  steps: number;
}): Subject;
