// Corral's hooks for pi: asks `corral hook pi` before and after each tool that names a file, and tells it when pi is
// given something to do and when it is done.
import { refusal } from "./hook_client.js";

const READS = ["read"];
const WRITES = ["write", "edit"];

export default function (pi) {
  const place = (context) => ({ sessionID: context.sessionManager?.getSessionId?.() ?? "", directory: context.cwd });
  pi.on("tool_call", async (event, context) => {
    const writes = WRITES.includes(event.toolName);
    if (!writes && !READS.includes(event.toolName)) return undefined;
    const said = { tool: event.toolName, args: event.input, ...place(context) };
    const reason = await refusal("pi", "pre-tool-use", said, { writes });
    return reason ? { block: true, reason } : undefined;
  });
  pi.on("tool_result", async (event, context) => {
    if (event.isError || ![...READS, ...WRITES].includes(event.toolName)) return;
    await refusal("pi", "post-tool-use", { tool: event.toolName, args: event.input, ...place(context) });
  });
  pi.on("before_agent_start", async (event, context) => {
    await refusal("pi", "user-prompt-submit", { prompt: event.prompt, ...place(context) });
  });
  pi.on("agent_end", async (_, context) => {
    await refusal("pi", "stop", place(context));
  });
}
