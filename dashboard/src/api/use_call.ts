// A call as a part of a view: what it last answered stays on the page while it is made again or fails.
import { useEffect, useRef, useState } from "preact/hooks";
import { signedIn } from "./client";
import { call, CallError, type MethodName, type Request, type Response } from "./client";

export interface Called<T> {
  data: T | undefined;
  error: CallError | undefined; // of the last try
  loading: boolean;
  received: number; // when `data` came, milliseconds since 1970; 0: never
  again: () => void;
}

// `request` undefined: not yet. `version` changes: ask again (a live update), without showing that it loads.
export function useCall<M extends MethodName>(method: M, request: Request<M> | undefined, version: unknown = 0): Called<Response<M>> {
  const [state, setState] = useState<Omit<Called<Response<M>>, "again">>({ data: undefined, error: undefined, loading: true, received: 0 });
  const [tries, setTries] = useState(0);
  const key = request === undefined ? "" : JSON.stringify(request);
  const shown = useRef("");
  const session = signedIn.value;
  useEffect(() => {
    if (!key) return;
    const control = new AbortController();
    if (shown.current !== key) setState((old) => ({ ...old, loading: true }));
    call(method, JSON.parse(key) as Request<M>, control.signal).then(
      (data) => {
        shown.current = key;
        setState({ data, error: undefined, loading: false, received: Date.now() });
      },
      (error: CallError) => {
        if (control.signal.aborted) return;
        // Another question's answer is not this one's.
        setState((old) => ({ ...old, data: shown.current === key ? old.data : undefined, error, loading: false }));
      },
    );
    return () => control.abort();
  }, [method, key, tries, version, session]);
  return { ...state, again: () => setTries((n) => n + 1) };
}
