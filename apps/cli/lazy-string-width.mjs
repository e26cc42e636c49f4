// Stands in for string-width in the bundle: that package builds an Intl.Segmenter and large patterns at import, which every start
// would pay for. Help texts are all that is measured with it.
const ESCAPES = /\x1b\[[0-9;]*m/g;
export default function stringWidth(text) {
  const bare = String(text).replace(ESCAPES, "");
  return /^[\x20-\x7e]*$/.test(bare) ? bare.length : [...bare].length;
}
