/** The models that a server has, as it lists them itself. */
import type { CallContext } from "@heddle/kernel/plugin";
import { list } from "./client.ts";
import { connectionError, type Failing, noServer, notTheApi, readSaid, redacted, saidError } from "./errors.ts";
import type { Server } from "./options.ts";
import { isObject, type JsonObject, parseObject, stringOf } from "./text.ts";

/** `window` and `maxOutput` in tokens, where the server tells. */
export type ListedModel = { readonly id: string; readonly window?: number; readonly maxOutput?: number; readonly images?: boolean };
/** What a call needs of its context. */
export type Talk = Pick<CallContext, "signal" | "now">;

/** `GET /v1/models`, sorted by id. Throws ModelError when there is no such server. */
export async function listModels(server: Server, { signal, now }: Talk): Promise<readonly ListedModel[]> {
  const failing: Failing = { server, model: "", now: now() };
  if (server.baseURL === undefined) throw noServer(failing);
  let response: Response;
  let text: string;
  try {
    response = await list(server, signal);
    if (!response.ok) throw saidError(await readSaid(response, server, now()), failing);
    text = await response.text();
  } catch (error) {
    throw connectionError(error, failing);
  }
  const data = parseObject(text)?.["data"];
  if (!Array.isArray(data)) throw notTheApi(failing, `"${redacted(text, server).slice(0, 80)}"`, response.status);
  const models = data.flatMap((it) => (isObject(it) && stringOf(it, "id") !== "" ? [listed(it)] : []));
  return models.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function listed(it: JsonObject): ListedModel {
  const inner = (key: string): JsonObject => (isObject(it[key]) ? (it[key] as JsonObject) : {});
  const meta = inner("meta");
  const window = count(it["max_model_len"], it["context_length"], it["max_context_length"], meta["n_ctx"], meta["n_ctx_train"]);
  const maxOutput = count(inner("top_provider")["max_completion_tokens"]);
  const modalities = inner("architecture")["input_modalities"];
  return {
    id: stringOf(it, "id"),
    ...(window === undefined ? {} : { window }),
    ...(maxOutput === undefined ? {} : { maxOutput }),
    ...(Array.isArray(modalities) ? { images: modalities.includes("image") } : {}),
  };
}
const count = (...values: readonly unknown[]): number | undefined =>
  values.find((value): value is number => typeof value === "number" && value > 0);
