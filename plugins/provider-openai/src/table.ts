/** The models of OpenAI by family: sizes in tokens. From its model pages of November 2026; prices are not among it. */
import type { Effort } from "@heddle/kernel/plugin";

const K = 1000;
const BASIC: readonly Effort[] = ["low", "medium", "high"];
const WIDE: readonly Effort[] = [...BASIC, "xhigh"];
const ALL: readonly Effort[] = [...WIDE, "max"];

/** `maxOutput` is the longest reply; `window` is what is left beside it, or both together where that is how the model counts. */
export type Family = {
  readonly id: RegExp;
  readonly window: number;
  readonly maxOutput?: number;
  readonly efforts?: readonly Effort[];
  readonly images?: false;
};
/** The first that fits. */
export const FAMILIES: readonly Family[] = [
  { id: /^gpt-5(\.\d+)?-chat/, window: 112 * K, maxOutput: 16_384 },
  { id: /^gpt-(?:[6-9]|5\.[6-9])/, window: 922 * K, maxOutput: 128 * K, efforts: ALL },
  { id: /^gpt-5\.[45]-(?:mini|nano)/, window: 272 * K, maxOutput: 128 * K, efforts: WIDE },
  { id: /^gpt-5\.[45]/, window: 922 * K, maxOutput: 128 * K, efforts: WIDE },
  { id: /^gpt-5\.3-codex-spark/, window: 100 * K, efforts: WIDE, images: false },
  { id: /^gpt-5\.[23]/, window: 272 * K, maxOutput: 128 * K, efforts: WIDE },
  { id: /^gpt-5\.1-codex-max/, window: 272 * K, maxOutput: 128 * K, efforts: WIDE },
  { id: /^gpt-5-pro/, window: 128 * K, efforts: ["high"] },
  { id: /^gpt-5/, window: 272 * K, maxOutput: 128 * K, efforts: BASIC },
  { id: /^gpt-4\.1/, window: 1_014 * K, maxOutput: 32_768 },
  { id: /^gpt-4o/, window: 111 * K, maxOutput: 16_384 },
  { id: /^gpt-4-turbo/, window: 111 * K, maxOutput: 4096 },
  { id: /^gpt-4/, window: 8192, images: false },
  { id: /^gpt-3\.5/, window: 12 * K, maxOutput: 4096, images: false },
  { id: /^o[134]-mini/, window: 100 * K, maxOutput: 100 * K, efforts: BASIC, images: false },
  { id: /^o\d/, window: 100 * K, maxOutput: 100 * K, efforts: BASIC },
];
