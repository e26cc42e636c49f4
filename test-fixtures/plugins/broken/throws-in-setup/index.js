// Throws while it is being set up.
import { definePlugin } from "@heddle/kernel/plugin";

export default definePlugin({
  setup() {
    throw new Error("no licence key in ACME_KEY");
  },
});
