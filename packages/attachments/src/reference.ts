/** What is named and not put into the conversation, and why. */
import { type Message, z } from "@heddle/kernel/plugin";

/** Bytes of one text, and of all texts of one prompt, that are put into the conversation; and how many images. */
export const MAX_BYTES = 256 * 1024;
export const MAX_IMAGES = 10;

const WHYS = ["binary", "huge", "huge-image", "unfit", "images", "enough", "outside", "denied", "unreadable"] as const;
export type Why = (typeof WHYS)[number];
/** `detail`: what is wrong with an image. */
export const referenceData = z.object({
  kind: z.literal("reference"),
  path: z.string(),
  why: z.enum(WHYS),
  bytes: z.int().optional(),
  detail: z.string().optional(),
});
export type Reference = z.output<typeof referenceData>;

const WORDS: { readonly [W in Exclude<Why, "unfit">]: string } = {
  binary: "it is no text",
  huge: `it is larger than ${MAX_BYTES / 1024} KB; read the part you need`,
  "huge-image": "it is an image that is too large to be read",
  images: `only ${MAX_IMAGES} images come with one prompt`,
  enough: "the files before it are long enough; read it if you need it",
  outside: "it is outside the workspace; read it if you need it",
  denied: "denied by a rule",
  unreadable: "it cannot be read",
};
export const whyNot = ({ why, detail = "" }: Pick<Reference, "why" | "detail">): string =>
  why === "unfit" ? `image left out: ${detail}` : WORDS[why];

/** For the person, of an attachment that only names a file: its path and why, in one line. Undefined for every other message. */
export function notAttached(message: Message): string | undefined {
  if (message.role !== "attachment" || message.kind !== "file") return undefined;
  const { data, success } = referenceData.safeParse(message.data);
  return success ? `${data.path} is not attached: ${whyNot(data).replace(/; read .*/, "")}` : undefined;
}
