// Corral's hooks for OpenCode: asks `corral hook opencode` before and after each tool that names files, and tells it
// when OpenCode is given something to do, waits for a permission, and is done.
import { refusal } from "./hook_client.js";

const READS = ["read"];
const TOLD = {
  "session.idle": "stop",
  "permission.asked": "permission-request",
  "permission.replied": "permission-reply",
};
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
  "chat.message": async ({ sessionID }, { parts = [] }) => {
    const prompt = parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    await refusal("opencode", "user-prompt-submit", { sessionID, directory, prompt });
  },
  event: async ({ event }) => {
    const told = TOLD[event.type];
    if (told) await refusal("opencode", told, { sessionID: event.properties?.sessionID, directory });
  },
});
