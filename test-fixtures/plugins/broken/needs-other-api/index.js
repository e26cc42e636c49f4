// Written for a later plugin API.
import { definePlugin } from "@heddle/kernel/plugin";

export default definePlugin({ setup: () => ({}) });
