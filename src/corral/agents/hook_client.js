// What Corral's plugins for coding agents share: one call of `corral hook`, and what came of it.
import { spawn } from "node:child_process";

// Why a tool must not be used now; nothing if it may be.
export async function refusal(program, event, said, { writes = false } = {}) {
  const { code, words } = await run(["hook", program, event], JSON.stringify(said));
  if (code === 2) return words;
  // Of a hook that did not run nobody can say that nothing is in the way. Outside of an agent of Corral, nothing is.
  const unjudged = code !== 0 && writes && process.env.CORRAL_TEAM && process.env.CORRAL_UNREACHABLE !== "allow";
  return unjudged ? `Not written: corral hook did not run (${words || `exit code ${code}`}).` : undefined;
}

function run(words, input) {
  return new Promise((resolve) => {
    const child = spawn(process.env.CORRAL_PROGRAM || "corral", words, { stdio: ["pipe", "ignore", "pipe"] });
    let told = "";
    child.stderr.on("data", (data) => (told += data));
    child.on("error", (error) => resolve({ code: 127, words: error.message }));
    child.on("close", (code) => resolve({ code, words: told.trim() }));
    child.stdin.on("error", () => {}); // it ended before it had read all: its exit code says what is to be done
    child.stdin.end(input);
  });
}
