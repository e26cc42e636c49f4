/** What the events of a session make of it: its history, and what was chosen for it. */
import type { Effort, Listed, Message, PointId, Prefix, RuntimeEvent, SessionChange, TurnEnv } from "@heddle/kernel";
import type { SessionStart } from "./start.ts";

type Chosen = Pick<SessionStart, "model" | "effort" | "permissionMode">;

export class SessionState {
  #messages: Message[];
  #chosen: Chosen;
  #prefix: Prefix | undefined;
  #lines = { added: 0, removed: 0 };
  #allowed: readonly string[] = [];

  readonly #named: (model: string) => string;

  /** `named`: the model that a name stands for. */
  constructor({ model, effort, permissionMode, messages, prefix }: SessionStart, named: (model: string) => string) {
    this.#named = named;
    this.#chosen = { model: named(model), effort, permissionMode };
    this.#messages = [...messages];
    this.#prefix = prefix;
  }
  /** Since the last clear, without what was dropped. */
  get messages(): readonly Message[] {
    return [...this.#messages];
  }
  get prefix(): Prefix | undefined {
    return this.#prefix;
  }
  get model(): string {
    return this.#chosen.model;
  }
  get effort(): Effort | undefined {
    return this.#chosen.effort;
  }
  get permissionMode(): string {
    return this.#chosen.permissionMode;
  }
  /** Rules that the person has allowed in answers; a session that is resumed has none. */
  get allowed(): readonly string[] {
    return this.#allowed;
  }
  /** What tools have added to files and removed from them. */
  get lines(): { readonly added: number; readonly removed: number } {
    return this.#lines;
  }

  take(event: RuntimeEvent): void {
    if (event.type === "message.added") this.#messages.push(event.message);
    else if (event.type === "history.dropped") this.#messages = this.#messages.filter((m) => !event.ids.includes(m.id));
    else if (event.type === "prefix.built") this.#prefix = event.prefix;
    else if (event.type === "session.changed") this.#change(event.change);
    else if (event.type === "ask.closed") {
      const { answer } = event;
      if (answer.kind === "allow" && answer.rules) this.#allowed = [...new Set([...this.#allowed, ...answer.rules])];
    } else if (event.type === "stage.ran" && event.record.lines) {
      const { added, removed } = event.record.lines;
      this.#lines = { added: this.#lines.added + added, removed: this.#lines.removed + removed };
    }
  }
  #change({ clear, model, effort, permissionMode }: SessionChange): void {
    const { model: was, effort: before, permissionMode: mode } = this.#chosen;
    this.#chosen = {
      model: model === undefined ? was : this.#named(model),
      effort: effort ?? before,
      permissionMode: permissionMode ?? mode,
    };
    if (!clear) return;
    this.#messages = [];
    this.#prefix = undefined;
  }
  /** What contributions see of the session; it changes with it. `owner` has the permission mode and the allowed rules that count. */
  view(
    { id, cwd, directories, provider, headless }: SessionStart,
    list: (point: PointId) => readonly Listed[],
    owner: { readonly permissionMode: string; readonly allowed: readonly string[] },
  ): TurnEnv["session"] {
    const chosen = (): Chosen => this.#chosen;
    return {
      ...{ id, cwd, directories, provider, headless, list },
      get model() {
        return chosen().model;
      },
      get permissionMode() {
        return owner.permissionMode;
      },
      get allowedTools() {
        return owner.allowed;
      },
      get effort() {
        return chosen().effort as Effort;
      },
    };
  }
}
