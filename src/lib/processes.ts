import { systemCodeOf } from "./thrown.ts";

/** Whether a process with this ID runs on this machine. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCodeOf(error) === "EPERM";
  }
}
