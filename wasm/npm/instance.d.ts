// One instance of accountant.wasm (instance.js).
export class AccountingError extends Error {
  readonly code: number; // one of gRPC's
  readonly reason: string; // for programs: "NO_ANALYSIS"
}
// The instance's memory or stack is full: it is at its end.
export class Stopped extends Error {}

export class Instance {
  static start(module: WebAssembly.Module): Promise<Instance>;
  call(method: string, question: object): unknown;
  add(tile: Uint8Array): void;
  beginHeld(origin: string, registry: string): void;
  addHeld(tile: Uint8Array): void;
  verifyBudget(): unknown;
  epsilon(asked: { name: string; root: Uint8Array; question: object }): unknown;
}
