/** Seeded randomness and the ids made from it, so that two runs of a test see the same ids. */

export type Random = () => number;

/** mulberry32: tiny, well spread, and the same on every platform. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789";

export function randomText(random: Random, length: number): string {
  let text = "";
  for (let i = 0; i < length; i++) text += ALPHABET[Math.floor(random() * ALPHABET.length)];
  return text;
}
