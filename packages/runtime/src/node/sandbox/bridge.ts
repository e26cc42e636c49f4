/** What leads the programs of a sandbox to its proxy: variables, and a way from its loopback to a socket. */

const PORT = 3128;
/** What programs are told of the proxy. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map((name) => [name, `http://127.0.0.1:${PORT}`])),
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  NODE_USE_ENV_PROXY: "1",
};

/**
 * Run inside by Node, as most programs know no proxy on a socket of the file system: takes connections of the sandbox's own loopback to
 * the socket `argv[1]`, and ends as the command that follows does.
 */
export const BRIDGE = `
const net = require("node:net"), { spawn } = require("node:child_process"), { signals } = require("node:os").constants;
const [, path, command, ...args] = process.argv;
for (const s of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(s, () => {});
net.createServer((a) => {
  const b = net.connect(path);
  a.on("error", () => b.destroy()); b.on("error", () => a.destroy());
  a.pipe(b).pipe(a);
}).listen(${PORT}, "127.0.0.1", () => {
  const child = spawn(command, args, { stdio: "inherit" });
  child.on("error", (e) => { console.error(e.message); process.exit(127); });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + signals[signal]));
});`;
