import { describe, expect, it } from "vitest";
import { bubblewrapArgs } from "../src/node/sandbox/bubblewrap.ts";
import { isSecretVariable, type SandboxPolicy } from "../src/node/sandbox/policy.ts";
import { meaningOf } from "../src/node/sandbox/sandbox.ts";
import { seatbeltProfile } from "../src/node/sandbox/seatbelt.ts";

const policy: SandboxPolicy = {
  writable: ["/proj"],
  fixed: [{ path: "/proj/.git/hooks" }, { path: "/proj/.claude", missing: "folder" }, { path: "/proj/.mcp.json", missing: "file" }],
  mended: [],
  hidden: [
    { path: "/run", folder: true },
    { path: "/home/dev/.netrc", folder: false },
    { path: "/proj/keys/a.pem", folder: false },
  ],
  scratch: "/tmp/heddle-sandbox-1",
  network: "off",
  withoutVariables: ["NPM_TOKEN"],
};

describe("the arguments of bubblewrap", () => {
  it("open the workspace, keep the rest, and take everything else away", () => {
    expect(bubblewrapArgs(policy, "/proj/src").join(" ").split(" --")).toEqual([
      "--unshare-all",
      "unshare-user",
      "disable-userns",
      "die-with-parent",
      "cap-drop ALL",
      "ro-bind / /",
      "proc /proc",
      "dev /dev",
      "bind /tmp/heddle-sandbox-1 /tmp",
      "tmpfs /run",
      "ro-bind /dev/null /home/dev/.netrc",
      "ro-bind-try /run/current-system /run/current-system",
      "ro-bind-try /run/systemd/resolve /run/systemd/resolve",
      "bind /proj /proj",
      "bind /proj/.git /proj/.git",
      "bind /proj/keys /proj/keys",
      "ro-bind /proj/.git/hooks /proj/.git/hooks",
      "tmpfs /proj/.claude",
      "ro-bind /dev/null /proj/.mcp.json",
      "ro-bind /dev/null /proj/keys/a.pem",
      "remount-ro /run",
      "remount-ro /proj/.claude",
      "unsetenv NPM_TOKEN",
      "setenv TMPDIR /tmp",
      "chdir /proj/src",
      "",
    ]);
  });
  it("share the network only where the policy says so", () => {
    expect(bubblewrapArgs(policy, "/proj")).not.toContain("--share-net");
    expect(bubblewrapArgs({ ...policy, network: "on" }, "/proj")).toContain("--share-net");
  });
});

describe("the profile of seatbelt", () => {
  it("says the same, in which later rules count", () => {
    expect(
      seatbeltProfile({ ...policy, writable: ['/pr"oj'] })
        .split("\n")
        .slice(6),
    ).toEqual([
      "(allow file-read*)",
      '(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper") (literal "/dev/tty"))',
      '(allow file-write* (subpath "/pr\\"oj") (subpath "/tmp/heddle-sandbox-1"))',
      '(deny file-write* (subpath "/proj/.git/hooks") (subpath "/proj/.claude") (subpath "/proj/.mcp.json"))',
      '(deny file-read* file-write* (subpath "/run") (subpath "/home/dev/.netrc") (subpath "/proj/keys/a.pem"))',
    ]);
    expect(seatbeltProfile(policy)).not.toContain("network");
    expect(seatbeltProfile({ ...policy, network: "on" })).toContain("(allow network*)");
  });
});

it("keeps back variables that hold keys or lead to sockets", () => {
  const names = "GITHUB_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD SSH_AUTH_SOCK MY_API_KEY PATH HOME TOKENIZERS_PARALLELISM KEYBOARD".split(
    " ",
  );
  expect(names.filter(isSecretVariable)).toEqual("GITHUB_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD SSH_AUTH_SOCK MY_API_KEY".split(" "));
});

it("says what to do where bubblewrap cannot work", () => {
  expect(meaningOf("bwrap: No permissions to create a new namespace, likely because …")).toMatch(
    /^the system lets no one make user namespaces/,
  );
  expect(meaningOf("bwrap: Can't mount proc on /newroot/proc: Operation not permitted")).toMatch(/^this runs in a container/);
  expect(meaningOf("bwrap: Unknown option --disable-userns\nusage")).toMatch(/^bubblewrap is too old/);
  expect(meaningOf("bwrap: broken")).toBe("it does not work here (bwrap: broken)");
});
