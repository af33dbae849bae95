// Calls as parts of a view: what was last answered stays on the page while it is asked again or
// fails.
import { useEffect, useRef, useState } from "preact/hooks";
import { generation } from "../live";
import {
  call,
  CallError,
  forgetDenied,
  signedIn,
  type MethodName,
  type Request,
  type Response,
} from "./client";

export interface Called<T> {
  data?: T;
  error?: CallError; // of the last try
  received: number; // when `data` came, milliseconds since 1970; 0: never
  again: () => void;
}

// `request` undefined: not yet. `version` changes: ask again (a live update).
export function useCall<M extends MethodName>(
  method: M,
  request: Request<M> | undefined,
  version: unknown = 0,
): Called<Response<M>> {
  type State = Omit<Called<Response<M>>, "again">;
  const [state, setState] = useState<State>({ received: 0 });
  const [tries, setTries] = useState(0);
  const key = request === undefined ? "" : JSON.stringify(request);
  const shown = useRef("");
  const session = signedIn.value;
  // What could not be asked is asked again when the server is heard of.
  const back = state.error?.code === "unavailable" && generation.value;
  useEffect(() => {
    if (!key) return;
    const control = new AbortController();
    call(method, JSON.parse(key) as Request<M>, control.signal).then(
      (data) => {
        shown.current = key;
        setState({ data, received: Date.now() });
      },
      (error: CallError) => {
        if (control.signal.aborted) return;
        // Another question's answer is not this one's.
        setState((old) => (shown.current === key ? { ...old, error } : { received: 0, error }));
      },
    );
    return () => control.abort();
  }, [method, key, tries, version, session, back]);
  const again = () => {
    forgetDenied();
    setTries((n) => n + 1);
  };
  return { ...state, again };
}

// Several calls, as `body` makes them, made again when one of `inputs` changes.
export function useTask<T>(
  body: (signal: AbortSignal) => Promise<T>,
  inputs: unknown[],
): { data?: T; error?: CallError } {
  const [state, setState] = useState<{ data?: T; error?: CallError }>({});
  useEffect(() => {
    const control = new AbortController();
    body(control.signal).then(
      (data) => !control.signal.aborted && setState({ data }),
      (error: CallError) => !control.signal.aborted && setState((old) => ({ ...old, error })),
    );
    return () => control.abort();
  }, inputs);
  return state;
}
