// A proxy may show the page below a path of its own, which it takes off before it asks the server.
// The server says so by <base> (--http-prefix). Addresses in the code are the server's: "/ledgers".
export const prefixOf = (base: string) => new URL(base).pathname.replace(/\/[^/]*$/, "");
const PREFIX = typeof document === "undefined" ? "" : prefixOf(document.baseURI);

export const urlOf = (address: string) => PREFIX + address;
export const addressHere = () => location.pathname.slice(PREFIX.length);
// What the command line calls this server. It calls no server by a path.
export const serverName = () => (PREFIX ? "HOST:PORT" : location.host);
