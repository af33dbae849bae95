// Bytes as text and back, and side by side.
export const hex = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const base64 = (bytes: Uint8Array) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
};

type Native = { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as Native).fromBase64;
  return native?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// Base 64 in its one spelling; null for any other text.
export function strictBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
  try {
    const bytes = fromBase64(text);
    return base64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

export function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
