// How a number is asked for: at which δ, by which method, and of how many entries. It stands in the
// address, which links keep.
import { useState } from "preact/hooks";
import { givenDelta, givenSize, place, setQuery } from "../router";
import { visible } from "../text/names";
import { grouped, typed, typedWhole } from "../text/numbers";
import { METHODS } from "../text/words";

interface AskProps {
  shown: number | undefined; // the δ of what is shown; undefined: not known yet
  total?: string; // entries of the ledger, "": not known; left out: it is of no ledger
}
export function Ask({ shown, total }: AskProps) {
  const { query } = place.value;
  const [wrong, setWrong] = useState("");
  const asked = query.get("delta");
  const size = total !== undefined && query.get("size");
  const ignored =
    asked && givenDelta() === undefined
      ? `The address asks for δ “${visible(asked)}”, which is none. The usual one is shown.`
      : size && !givenSize()
        ? `The address asks for the first “${visible(size)}” entries. All are shown.`
        : "";
  const askDelta = (text: string) => {
    const delta = text.trim() && typed(text);
    const fits = delta === "" || (Number(delta) > 0 && Number(delta) < 1);
    setWrong(
      fits ? "" : `“${visible(text)}” is no δ: it lies between 0 and 1, as 1e-5 or 0,00001.`,
    );
    if (fits) setQuery({ delta });
  };
  const askSize = (text: string) => {
    const size = text.trim() && typedWhole(text);
    const fits = size === "" || (Number(size) > 0 && (!total || BigInt(size!) <= BigInt(total)));
    const most = total ? `1 to ${grouped(total)}` : "1 or more";
    setWrong(fits ? "" : `“${visible(text)}” is no number of its entries: ${most}.`);
    if (fits) setQuery({ size: size === total ? "" : size });
  };
  return (
    <form class="ask" onSubmit={(event) => event.preventDefault()}>
      <label>
        δ{" "}
        <input
          key={`${asked} ${shown}`}
          inputMode="decimal"
          defaultValue={shown === undefined ? (asked ?? "") : String(shown)}
          onChange={(event) => askDelta(event.currentTarget.value)}
        />
      </label>
      {total !== undefined && (
        <label>
          First entries{" "}
          <input
            key={query.get("size")}
            inputMode="numeric"
            placeholder={total ? `all ${grouped(total)}` : "all"}
            defaultValue={query.get("size") ?? ""}
            onChange={(event) => askSize(event.currentTarget.value)}
          />
        </label>
      )}
      <label>
        Method{" "}
        <select
          value={query.get("method") ?? ""}
          onChange={(event) => setQuery({ method: event.currentTarget.value })}
        >
          <option value="">best</option>
          {Object.entries(METHODS).map(([method, { name, about }]) => (
            <option key={name} value={method.toLowerCase()} title={about}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <span role="alert" class="warn-text">
        {wrong || ignored}
      </span>
    </form>
  );
}
