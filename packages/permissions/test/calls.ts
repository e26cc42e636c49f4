/** A turn in which the model makes the given calls, under the gate of this package, with tools that record what they did. */
import { type Answer, type Controls, type Decision, defineTool, type Effect, type Json, textOf, z } from "@heddle/kernel";
import { ownPlugin, pluginOf, type RunOptions, runTurnWith, type TestFiles, testHost } from "@heddle/testkit";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

type Call = { readonly tool: string; readonly input: Json };
export type Run = Pick<RunOptions, "host" | "directories"> & {
  readonly call: Call;
  /** Calls that stand before it in the same reply. */
  readonly before?: readonly Call[];
  readonly options?: Readonly<Record<string, unknown>>;
  readonly mode?: string;
  readonly answer?: Answer;
  readonly controls?: Controls;
  readonly shell?: string;
  /** What the tool Bash says of where it runs. */
  readonly sandbox?: "inside" | "outside";
};
export type Ran = {
  /** Without the id of the call. */
  readonly decision: Omit<Decision, "callId">;
  readonly outcome: string;
  readonly result: string;
  readonly asked: readonly string[];
  /** The calls that really ran. */
  readonly did: readonly string[];
  readonly logged: readonly string[];
};

export async function run(o: Run): Promise<Ran> {
  const { ran, did } = await turnOf(o);
  const decided = ran.decisions.find((d) => d.callId === "c1");
  if (!decided) throw new Error(`nothing was decided: ${ran.explain}`);
  const { callId: _, ...decision } = decided;
  const message = ran.added.find((m) => m.role === "tool" && m.callId === "c1");
  const { outcome, content } = message?.role === "tool" ? message : { outcome: "", content: [] };
  return {
    decision,
    outcome,
    result: textOf(content),
    asked: ran.asks.map((ask) => (ask.kind === "permission" ? ask.why : ask.text)),
    did,
    logged: ran.logs.map((l) => l.text),
  };
}

/** What each question offers to allow from now on. */
export async function offers(o: Run): Promise<readonly (readonly string[])[]> {
  const { ran } = await turnOf(o);
  return ran.asks.map((ask) => (ask.kind === "permission" ? (ask.offer ?? []) : []));
}

async function turnOf({ call, before = [], options, mode = "default", answer = { kind: "deny" }, ...o }: Run) {
  const did: string[] = [];
  const { controls, shell, sandbox, host = testHost({ files: PROJECT }), directories = [] } = o;
  const tool = <F extends string>(name: string, kind: Effect["kind"] | undefined, ...fields: F[]) =>
    defineTool({
      name,
      description: "",
      input: z.record(z.enum(fields), z.string()),
      jsonSchema: { type: "object" },
      overlap: "shared",
      effects: (input) =>
        kind
          ? [{ kind, target: Object.values<string>(input)[0] ?? "git", ...(name === "Bash" && sandbox !== undefined ? { sandbox } : {}) }]
          : [],
      run: (input) => {
        did.push(`${name} ${JSON.stringify(input)}`);
        return "did it";
      },
    });
  const prompt = pluginOf("prompt", {
    classifiers: [
      {
        name: "prompt",
        classify: ({ text }) => ({ as: "prompt", content: [{ type: "text", text }], ...(controls ? { controls } : {}) }),
      },
    ],
  });
  const tools = pluginOf(
    "tools",
    {
      tools: [
        tool("Read", "read", "file_path"),
        tool("Write", "write", "file_path"),
        tool("Edit", "write", "file_path"),
        tool("Grep", "read", "path"),
        tool("Bash", "execute", "command"),
        tool("WebFetch", "network", "url"),
        tool("push", "other"),
        tool("Deploy", "execute", "where"),
        tool("Task", "other", "subagent_type"),
        tool("Think", undefined),
      ],
    },
    { rename: { "tools/push": "mcp__git__push" }, provides: shell ? { "heddle.shell-folder": { get: () => shell } } : {} },
  );
  const calls = [...before.map((c, i) => ({ ...c, callId: `before${i}` })), { ...call, callId: "c1" }];
  const ran = await runTurnWith({
    plugins: [prompt, tools, { ...ownPlugin(plugin, packageJson, options), id: "permissions" }],
    replies: [{ calls }, "done"],
    answers: () => answer,
    permissionMode: mode,
    cwd: "/proj",
    directories,
    host,
  });
  return { ran, did };
}

export const PROJECT: TestFiles = {
  "/proj/README.md": "hello",
  "/proj/.env": "KEY=1",
  "/proj/src/app.ts": "",
  "/proj/package.json": "{}",
  "/proj/.git/config": "",
  "/proj/packages/a/index.ts": "",
  "/home/dev/.ssh/id_rsa": "key",
  "/home/dev/.bashrc": "",
  "/etc/hosts": "",
  "/data/x": "",
  "/tmp/y": "",
};

/** Options with rules from the project's settings. */
export const rules = (o: { allow?: string[]; ask?: string[]; deny?: string[] }, more: object = {}): Record<string, unknown> => {
  const texts = (list: string[] = []) => list.map((rule) => ({ rule, source: "project settings" }));
  return { allow: texts(o.allow), ask: texts(o.ask), deny: texts(o.deny), home: "/home/dev", ...more };
};
