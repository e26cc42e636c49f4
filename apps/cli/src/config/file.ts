/** Reads a settings file, whatever stands in its place. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/**
 * Undefined only when nothing is there; everything else that is not read throws. A pipe is read only where `pipes` allows it: elsewhere
 * nobody may ever write into it. Devices are never read.
 */
export function readSettingsFile(path: string, pipes = false): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (pipes ? 0 : constants.O_NONBLOCK));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
  try {
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new Error("it is a folder");
    if (!stat.isFile() && !(pipes && stat.isFIFO())) throw new Error("it is a pipe, socket or device");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}
