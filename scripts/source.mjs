// Reads one TypeScript file for the architecture check: its imports, its mutable module state, its uses of the outer world.
import { parseSync } from "vite";

/** The syntax tree with comments, and a way from an offset to a line. Files that cannot be read come back with `errors`. */
export function parse(file, text) {
  const { program, comments, errors } = parseSync(file, text, { lang: file.endsWith("x") ? "tsx" : "ts", sourceType: "module" });
  const starts = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  const lineOf = (offset) => {
    let low = 0;
    for (let high = starts.length; high - low > 1; ) {
      const mid = (low + high) >> 1;
      if (starts[mid] <= offset) low = mid;
      else high = mid;
    }
    return low + 1;
  };
  return { program, comments, errors, text, lineOf };
}

const children = (node) =>
  Object.values(node)
    .flat()
    .filter((c) => typeof c?.type === "string");
function* nodes(node) {
  yield node;
  for (const child of children(node)) yield* nodes(child);
}

/** Every import, export-from, `import()` and type import: `{specifier, line, named}`; `named` holds imported names. */
export function importsOf(source) {
  const out = [];
  const seen = (at, node, named = []) => {
    if (at?.type === "Literal" && typeof at.value === "string") out.push({ specifier: at.value, line: source.lineOf(node.start), named });
  };
  for (const node of nodes(source.program)) {
    const named = (node.specifiers ?? []).map((s) => (s.type === "ImportDefaultSpecifier" ? "default" : (s.imported?.name ?? "*")));
    if (node.type === "ImportDeclaration") seen(node.source, node, named);
    else if (node.type === "ExportNamedDeclaration" || node.type === "ExportAllDeclaration") seen(node.source, node);
    else if (node.type === "ImportExpression") seen(node.source, node);
    else if (node.type === "TSImportType") seen(node.source ?? node.argument?.literal ?? node.argument, node);
    else if (node.type === "TSExternalModuleReference") seen(node.expression, node);
  }
  return out;
}

/** Lines that hold more than blanks and comments. */
export function commentFreeLines({ text, comments }) {
  let code = "";
  let from = 0;
  for (const c of comments) {
    code += text.slice(from, c.start) + text.slice(c.start, c.end).replace(/[^\n]/g, " ");
    from = c.end;
  }
  return (code + text.slice(from)).split("\n").filter((l) => l.trim() !== "").length;
}

const bare = (node) =>
  node && /^TS(As|Satisfies|NonNull)Expression$|^ParenthesizedExpression$/.test(node.type) ? bare(node.expression) : node;
const typeName = (node) => node?.typeAnnotation?.typeName?.name ?? node?.typeName?.name;
const isStore = (node) => node?.type === "NewExpression" && /^(Weak)?(Map|Set)$/.test(node.callee.name ?? "");
const CHANGES = /^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear)$/;

/** Bindings at module level that can change while the program runs: `{what, line}`. */
export function moduleState(source) {
  const out = [];
  const consts = new Map();
  const say = (node, what) => out.push({ what, line: source.lineOf(node.start) });
  const readonlyTyped = (d) => /^Readonly(Map|Set)$/.test(typeName(d.id.typeAnnotation) ?? typeName(d.init?.typeAnnotation) ?? "");
  for (const statement of source.program.body) {
    const it = /^Export(Named|Default)Declaration$/.test(statement.type) ? (statement.declaration ?? statement) : statement;
    if (it.type === "VariableDeclaration" && !it.declare) {
      if (it.kind !== "const") say(it, `mutable ${it.kind} at module level`);
      else
        for (const d of it.declarations) {
          if (d.id.type === "Identifier") consts.set(d.id.name, d);
          if (isStore(bare(d.init)) && !readonlyTyped(d))
            say(d, `"${d.id.name}" is a ${bare(d.init).callee.name} at module level that anyone may change`);
        }
    }
    for (const m of it.type === "ClassDeclaration" ? it.body.body : [])
      if (m.static && m.type === "PropertyDefinition" && (!m.readonly || isStore(bare(m.value))))
        say(m, `mutable static field at module level`);
  }
  for (const { node, bound } of references(source.program)) {
    const changed = changedBy(node);
    const name = changed?.type === "Identifier" ? changed.name : undefined;
    if (name && consts.has(name) && bound.get(name) === source.program)
      say(node, `"${name}" is changed here, and it stands at module level`);
  }
  return out;
}

/** The innermost object that an expression alters, if it alters one. */
function changedBy(node) {
  const base = (n) => (bare(n)?.type === "MemberExpression" ? base(bare(n).object) : bare(n));
  const member = (n) => (bare(n)?.type === "MemberExpression" ? base(n) : undefined);
  if (node.type === "AssignmentExpression") return member(node.left);
  if (node.type === "UpdateExpression" || (node.type === "UnaryExpression" && node.operator === "delete")) return member(node.argument);
  if (node.type !== "CallExpression" || bare(node.callee)?.type !== "MemberExpression") return undefined;
  const callee = bare(node.callee);
  return !callee.computed && CHANGES.test(callee.property.name) ? bare(callee.object) : undefined;
}

/** Uses of clock, randomness, process and console: `{name, line}`. A local binding of that name is not one. */
export function worldUses(source) {
  const out = [];
  for (const { node, bound } of references(source.program)) {
    const global = (n) => (n?.type === "Identifier" && !bound.has(n.name) ? n.name : undefined);
    const say = (name) => out.push({ name, line: source.lineOf(node.start) });
    if (node.type === "MemberExpression") {
      const object = global(bare(node.object));
      const path = `${object}.${node.computed ? (node.property.value ?? "") : node.property.name}`;
      if (
        /^(Date\.now|Math\.random|performance\.now|crypto\.(randomUUID|getRandomValues)|(globalThis|global)\.(process|console|performance))$/.test(
          path,
        )
      )
        say(path);
    } else if (node.type === "NewExpression" || node.type === "CallExpression") {
      if (global(node.callee) === "Date" && (node.type === "CallExpression" || node.arguments.length === 0))
        say("Date for the present time");
    } else if (/^(process|console)$/.test(global(node) ?? "")) say(node.name);
  }
  return out;
}

function* declared(pattern) {
  const p = pattern?.type === "TSParameterProperty" ? pattern.parameter : pattern;
  if (!p) return;
  if (p.type === "Identifier") yield p.name;
  else if (p.type === "AssignmentPattern") yield* declared(p.left);
  else if (p.type === "RestElement") yield* declared(p.argument);
  else if (p.type === "ArrayPattern") for (const e of p.elements) yield* declared(e);
  else if (p.type === "ObjectPattern") for (const e of p.properties) yield* declared(e.value ?? e);
}
function* declaredBy(statement) {
  const s = /^Export(Named|Default)Declaration$/.test(statement?.type) ? statement.declaration : statement;
  if (s?.type === "VariableDeclaration") for (const d of s.declarations) yield* declared(d.id);
  else if (s?.type === "ImportDeclaration") for (const i of s.specifiers) yield i.local.name;
  else if (s?.id?.type === "Identifier" && /Declaration$/.test(s.type) && !s.declare) yield s.id.name;
}

/** The expressions of a tree, each with the names bound where it stands and the node that binds them. Types are left out. */
function* references(node, outer = new Map()) {
  let bound = outer;
  const bind = (names) => {
    const more = [...names];
    if (more.length > 0) bound = new Map([...bound, ...more.map((n) => [n, node])]);
  };
  if (/Function|^TSDeclareFunction/.test(node.type)) bind([...(node.params ?? [])].flatMap((p) => [...declared(p)]));
  if (node.type === "CatchClause") bind(declared(node.param));
  const body = node.type === "Program" || node.type === "BlockStatement" || node.type === "StaticBlock" ? node.body : undefined;
  for (const s of body ?? (node.type === "SwitchStatement" ? node.cases.flatMap((c) => c.consequent) : [])) bind(declaredBy(s));
  if (/^For/.test(node.type)) bind(declaredBy(node.init ?? node.left));
  yield { node, bound };
  for (const [key, value] of Object.entries(node)) {
    if (key === "typeAnnotation" || key === "typeArguments" || key === "typeParameters" || key === "returnType" || key === "implements")
      continue;
    if ((key === "property" || key === "key") && !node.computed) continue;
    if (node.type === "ImportDeclaration" || (node.type === "ExportSpecifier" && key === "exported")) continue;
    for (const child of [value].flat()) {
      if (typeof child?.type !== "string" || /^TS(Interface|TypeAlias|TypeQuery)/.test(child.type)) continue;
      yield* references(child, bound);
    }
  }
}
