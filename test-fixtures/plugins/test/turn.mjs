// Runs one turn in the process of a user, with the packages as they are published: `node turn.mjs '<scenario as JSON>'` prints a JSON result.
// Scenario: {project, plugins: [package name], options: {name: options}, input, replies, node: true for the host of Node}.
import { pathToFileURL } from "node:url";

const { root, project, plugins, options = {}, input, replies, node } = JSON.parse(process.argv[2]);
const load = (path) => import(new URL(path, `${pathToFileURL(root).href}/`).href);
const { runTurnWith, plugin } = await load("packages/testkit/dist/index.js");
const { discoverPlugins, nodeHost } = await load("packages/runtime/dist/node/index.js");

/** `/name args`, in place of the first-party pipeline. */
const slash = plugin("slash", { classifiers: ["slash"] }, () => ({
  classifiers: [
    {
      name: "slash",
      classify(typed) {
        const [, command, args = ""] = /^\/(\w+)\s*(.*)$/.exec(typed.text) ?? [];
        return command === undefined ? undefined : { as: "command", command, args };
      },
    },
  ],
}));
const host = nodeHost({ watchdog: { stallMs: 300 } });
const found = await discoverPlugins({ host, packages: plugins, resolveFrom: project });
const candidates = found.candidates.map((c) => (options[c.id] ? { ...c, options: options[c.id] } : c));
const ran = await runTurnWith({ plugins: [slash, ...candidates], replies, input, ...(node ? { host, cwd: project } : {}) });
const faults = ran.events.flatMap((e) => (e.type === "fault" ? [e.fault.message] : []));
const said = (m) => ("text" in m ? m.text : m.content.map((p) => p.text ?? p.type).join());
const result = {
  lines: [...found.problems, ...ran.problems].map((p) => p.message).concat(faults),
  refused: ran.refused,
  outcome: ran.outcome,
  messages: ran.messages.map((m) => [m.role, said(m)]),
};
process.stdout.write(JSON.stringify(result), () => process.exit(0)); // what hangs in a plugin must not keep this process
