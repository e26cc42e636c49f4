/** Images and documents: their sources, their sizes, and how many a request may hold. */

import { imageFacts, pdfPages } from "./image-facts.ts";
import { isObject, type JsonObject } from "./json.ts";
import type { ModelRules } from "./models.ts";
import { mustBe, mustBeObject, mustHaveTag } from "./phrases.ts";
import { refuse } from "./refusal.ts";

const MEDIA_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const MAX_BASE64 = 5_242_880;
const MAX_SIDE = 8000;
const MAX_SIDE_OF_MANY = 2000;
const MANY_IMAGES = 20;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

interface SeenImage {
  source: string;
  longestSide: number;
}

/** Collected over the whole request, since some limits depend on the number of images. */
export interface MediaTally {
  images: SeenImage[];
  documents: { path: string; pages: number }[];
}

export function emptyTally(): MediaTally {
  return { images: [], documents: [] };
}

function checkBase64Image(source: JsonObject, path: string): number {
  const declared = source["media_type"];
  if (typeof declared !== "string" || !MEDIA_TYPES.includes(declared)) {
    refuse(`${path}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`);
  }
  mustBe(source["data"], "string", `${path}.base64.data`);
  const data = String(source["data"]);
  if (!BASE64.test(data) || data.length % 4 !== 0) refuse(`${path}.base64.data: Invalid base64 data`);
  if (data.length > MAX_BASE64) refuse(`${path}.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${MAX_BASE64} bytes`);
  const facts = imageFacts(data);
  if (!facts) refuse("Could not process image");
  if (facts.mediaType !== declared) {
    refuse(
      `${path}.base64.data: The image was specified using the ${declared} media type, but the image appears to be a ${facts.mediaType} image`,
    );
  }
  const longest = Math.max(facts.width ?? 0, facts.height ?? 0);
  if (longest > MAX_SIDE) {
    refuse(`${path}.base64.data: At least one of the image dimensions exceed max allowed size: ${MAX_SIDE} pixels`);
  }
  return longest;
}

export function checkImage(block: JsonObject, at: string, tally: MediaTally): void {
  const path = `${at}.image.source`;
  const source = mustBeObject(block["source"], path);
  const type = mustHaveTag(source, ["base64", "file", "url"], path);
  const longestSide = type === "base64" ? checkBase64Image(source, path) : 0;
  tally.images.push({ source: path, longestSide });
}

export function checkDocument(block: JsonObject, at: string, tally: MediaTally): void {
  const source = mustBeObject(block["source"], `${at}.document.source`);
  mustHaveTag(source, ["base64", "content", "file", "text", "url"], `${at}.document.source`);
  const data = isObject(source) && source["type"] === "base64" ? source["data"] : undefined;
  tally.documents.push({
    path: `${at}.pdf.source.base64.data`,
    pages: typeof data === "string" ? pdfPages(data) : 0,
  });
}

export function checkTally({ images, documents }: MediaTally, model: ModelRules): void {
  const large = images.length > MANY_IMAGES && images.find((image) => image.longestSide > MAX_SIDE_OF_MANY);
  if (large) {
    refuse(
      `${large.source}.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: ${MAX_SIDE_OF_MANY} pixels`,
    );
  }
  const limit = model.window >= 1_000_000 ? 600 : 100;
  if (images.length + documents.length > limit) refuse(`too many images and documents: ${images.length} + ${documents.length} > ${limit}`);
  for (const { path, pages } of documents) if (pages > limit) refuse(`${path}: A maximum of ${limit} PDF pages may be provided.`);
}
