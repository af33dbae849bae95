// Files that the page writes for its reader.
export function download(name: string, type: string, content: BlobPart) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export type Cells = Record<string, string | number | undefined>; // by the name of the column
// A cell that a spreadsheet would run as a formula is text, unless it is a number.
function cellOf(value: string | number | undefined): string {
  let text = String(value ?? "");
  if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
export function csvOf(rows: Cells[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = [names, ...rows.map((row) => names.map((name) => row[name]))];
  return lines.map((line) => line.map(cellOf).join(",")).join("\n") + "\n";
}
export const downloadCsv = (name: string, rows: Cells[]) =>
  download(`${name}.csv`, "text/csv", csvOf(rows));
