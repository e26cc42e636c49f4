#!/usr/bin/env node
/** The program's start: answers `--version` by itself and loads everything else only when it is needed. */
import { VERSION } from "./version.ts";
import { loadWhole, useOf } from "./whole.ts";

/** The file name of everything else as one script. The build fills it in; there is none when heddle runs from its source. */
declare const HEDDLE_WHOLE: string;

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    process.exitCode = 1;
    process.stderr.write(`heddle: cannot write the answer: ${error.message}\n`);
  });
  process.stdout.write(`${VERSION}\n`);
} else if (typeof HEDDLE_WHOLE === "undefined") void import("./start.ts").then(({ start }) => start(argv));
else void loadWhole(HEDDLE_WHOLE, useOf(argv)).start(argv);
