/** Images of requests as every provider takes them: one over the limits is replaced by a smaller version, one that cannot be read by a note. */
import { Buffer } from "node:buffer";
import type { Content, Fitted, ImageLimits, ImagePart, Images, Message } from "@heddle/kernel";

/** What a request that was too large in bytes gets instead. */
const SMALL: ImageLimits = { side: 768, bytes: 150_000 };

export type WithContent = Message & { readonly content: Content };
export const hasImage = (m: Message): m is WithContent =>
  m.role !== "assistant" && m.role !== "system" && m.content.some((p) => p.type === "image");

/**
 * Of one session. An image is looked at once, so that a request begins as the one before it did. The log keeps what was given.
 * `tell` is called once, when an image should become smaller and nothing is installed that could do it.
 */
export class FittedImages {
  readonly #images: Images | undefined;
  readonly #tell: (why: string) => void;
  readonly #messages = new WeakMap<Message, Message>();
  /** A stage may make a message anew; it takes the parts over. */
  readonly #parts = new WeakMap<ImagePart, Content[number]>();
  #told = false;

  constructor(images: Images | undefined, tell: (why: string) => void) {
    this.#images = images;
    this.#tell = tell;
  }

  /** The same messages, and the same list, when nothing in it needs to change. Stops where it is when the signal fires. */
  async fit(messages: readonly Message[], signal: AbortSignal): Promise<readonly Message[]> {
    if (!this.#images) return messages;
    for (const m of messages) {
      if (signal.aborted) return messages;
      if (!this.#messages.has(m)) this.#messages.set(m, hasImage(m) ? await this.#message(this.#images, m) : m);
    }
    const known = (m: Message): Message => this.#messages.get(m) ?? m;
    return messages.some((m) => known(m) !== m) ? messages.map(known) : messages;
  }
  /** A much smaller version; the same part where there is none. */
  async shrink(part: ImagePart): Promise<ImagePart> {
    const bytes = bytesOf(part);
    const fitted = await this.#images?.fit(bytes, SMALL).catch(() => undefined);
    return fitted && "bytes" in fitted ? partOf(part, bytes, fitted) : part;
  }

  async #message(images: Images, m: WithContent): Promise<Message> {
    const content: Content[number][] = [];
    let nth = 0;
    for (const part of m.content) content.push(part.type === "image" ? await this.#part(images, part, ++nth) : part);
    return content.every((part, i) => part === m.content[i]) ? m : ({ ...m, content } as Message);
  }
  async #part(images: Images, part: ImagePart, nth: number): Promise<Content[number]> {
    const known = this.#parts.get(part);
    if (known) return known;
    const made = await this.#made(images, part, nth);
    this.#parts.set(part, made);
    return made;
  }
  async #made(images: Images, part: ImagePart, nth: number): Promise<Content[number]> {
    const bytes = bytesOf(part);
    const fitted = await images.fit(bytes).catch((error: unknown) => ({ why: String(error), unable: undefined }));
    if ("bytes" in fitted) return partOf(part, bytes, fitted);
    if (!fitted.unable) return { type: "text", text: `[image ${nth} (${part.mimeType}, ${kbOf(bytes)} KB) left out: ${fitted.why}]` };
    if (!this.#told) this.#tell(fitted.why);
    this.#told = true;
    return part; // the provider knows what its server takes
  }
}

const bytesOf = ({ data }: ImagePart): Buffer => Buffer.from(data, "base64");
const kbOf = ({ length }: Uint8Array): number => Math.ceil(length / 1024);

function partOf(part: ImagePart, given: Uint8Array, { mimeType, bytes }: Extract<Fitted, { bytes: Uint8Array }>): ImagePart {
  if (bytes === given) return mimeType === part.mimeType ? part : { ...part, mimeType };
  const { buffer, byteOffset, byteLength } = bytes;
  return { type: "image", mimeType, data: Buffer.from(buffer, byteOffset, byteLength).toString("base64") };
}
