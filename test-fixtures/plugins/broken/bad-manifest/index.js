// Its manifest has a misspelt point.
import { definePlugin } from "@heddle/kernel/plugin";

export default definePlugin({ setup: () => ({}) });
