// Never ends its setup.
import { definePlugin } from "@heddle/kernel/plugin";

export default definePlugin({ setup: () => new Promise(() => {}) });
