// Needs broken-cycle-b, which needs this.
import { definePlugin } from "@heddle/kernel/plugin";

export default definePlugin({ setup: () => ({}) });
