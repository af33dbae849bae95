// Numbers as people read them. Upper bounds are rounded up, lower bounds down, so that no text says
// less than was proved: 1.332042 to four digits is 1.333.
import type { Interval } from "../api/types";

export type Direction = "up" | "down" | "nearest";
export interface Digits {
  mantissa: string; // "1.333", "−0.5", "no bound"
  exponent: number | null; // of ten; null: none is written
}

// The decimal of `digits` significant digits next to x on the asked side, as [digits without a
// point, exponent of the first].
function decimal(x: number, digits: number, direction: Direction): [string, number] {
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  let whole = BigInt(mantissa.replace(".", ""));
  let first = Number(exponent);
  const nearest = Number(`${mantissa}e${exponent}`);
  if (direction === "up" && nearest < x) whole += 1n;
  if (direction === "down" && nearest > x) whole -= 1n;
  let text = whole.toString();
  if (text.length > digits) {
    text = text.slice(0, digits); // 9999 + 1: a power of ten
    first += 1;
  } else if (text.length < digits) {
    text += "9"; // 1000 - 1, one digit finer
    first -= 1;
  }
  return [text, first];
}

export function digitsOf(x: number, direction: Direction, digits = 4): Digits {
  if (Number.isNaN(x)) return { mantissa: "not a number", exponent: null };
  if (x === Infinity) return { mantissa: "no bound", exponent: null };
  if (x < 0) {
    const turned = direction === "up" ? "down" : direction === "down" ? "up" : "nearest";
    const { mantissa, exponent } = digitsOf(-x, turned, digits);
    return { mantissa: `−${mantissa}`, exponent };
  }
  if (x === 0) return { mantissa: "0", exponent: null };
  const [text, first] = decimal(x, digits, direction);
  if (first >= -3 && first < 0)
    return { mantissa: `0.${"0".repeat(-first - 1)}${text}`, exponent: null };
  if (first >= 0 && first < digits) {
    const point = first + 1;
    return {
      mantissa: text.slice(0, point) + (point < digits ? `.${text.slice(point)}` : ""),
      exponent: null,
    };
  }
  const rest = text.slice(1).replace(/0+$/, "");
  return { mantissa: text[0] + (rest ? `.${rest}` : ""), exponent: first };
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (n: number) =>
  (n < 0 ? "⁻" : "") + String(Math.abs(n)).replace(/\d/g, (digit) => SUPERSCRIPT[Number(digit)]);

// For places without markup: attributes and exports.
export function plainText({ mantissa, exponent }: Digits): string {
  if (exponent === null) return mantissa;
  return mantissa === "1" ? `10${raised(exponent)}` : `${mantissa} × 10${raised(exponent)}`;
}
export const textUp = (x: number, digits = 4) => plainText(digitsOf(x, "up", digits));
export const textNear = (x: number, digits = 4) => plainText(digitsOf(x, "nearest", digits));

// Whole numbers in full, others to so many digits.
export const amount = (x: number, digits = 4) =>
  Number.isInteger(x) && Math.abs(x) < 1e15 ? grouped(x) : textNear(x, digits);

// Proto JSON writes infinities and 64-bit integers as strings, and leaves zeros out.
export const number = (value: string | number = 0) => Number(value);

// Whether what lies in `now` is more than `before` said: a larger upper end alone may be that of a
// method which bounds looser.
export const isAbove = (now: Interval | undefined, before: Interval | undefined) =>
  !!now && !!before && number(now.lower) > number(before.upper);

// A number as people type it, with a decimal comma or a power of ten, as a program reads it;
// undefined: it is none, or could be two.
export function typed(text: string): string | undefined {
  const plain = text
    .trim()
    .replace(/^10\^(-?\d+)$/, "1e$1")
    .replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  return /^\d*\.?\d+(e[-+]?\d+)?$/i.test(plain) || /^\d+\.$/.test(plain) ? plain : undefined;
}
// A whole number that may be grouped: "1000", "1 000". With a comma or a point it could be two.
export function typedWhole(text: string): string | undefined {
  const plain = text.replace(/[\s_'’]/g, "");
  return /^\d{1,15}$/.test(plain) ? plain : undefined;
}

export function grouped(value: string | number | bigint = 0): string {
  return BigInt(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

// A chance of an attacker, in percent: never less than it is.
export const percentUp = (x: number) => `${textUp(x * 100)} %`;

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

export const plural = (n: number | string | undefined, one: string, many = `${one}s`) =>
  `${grouped(n)} ${Number(n) === 1 ? one : many}`;
export const entriesText = (n: number | string | undefined) => plural(n, "entry", "entries");
