// A cell that a spreadsheet would run as a formula is text, unless it is a number.
export function csvOf(rows: (string | number)[][]): string {
  const cell = (value: string | number) => {
    let text = typeof value === "number" ? String(value) : value;
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
