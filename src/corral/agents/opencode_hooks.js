// Corral's hooks for OpenCode: asks `corral hook opencode` before and after each tool that names files.
import { refusal } from "./hook_client.js";

const READS = ["read"];
const WRITES = ["write", "edit", "multiedit", "patch", "apply_patch"];

export const CorralHooks = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID }, { args }) => {
    const writes = WRITES.includes(tool);
    if (!writes && !READS.includes(tool)) return;
    const reason = await refusal("opencode", "pre-tool-use", { tool, sessionID, args, directory }, { writes });
    if (reason) throw new Error(reason);
  },
  "tool.execute.after": async ({ tool, sessionID, args = {} }) => {
    if (!WRITES.includes(tool) && !READS.includes(tool)) return;
    await refusal("opencode", "post-tool-use", { tool, sessionID, args, directory });
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return;
    await refusal("opencode", "stop", { sessionID: event.properties?.sessionID, directory });
  },
});
