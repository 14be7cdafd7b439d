import { readFileSync } from "node:fs";

/** The name of the user ID; the ID itself if it has none, as in a container. Bun's `userInfo` only knows USER. */
export function systemUser(): string {
  const id = String(process.getuid?.());
  try {
    const users = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"));
    return users.find((user) => user[2] === id)?.[0] ?? `uid ${id}`;
  } catch {
    return `uid ${id}`;
  }
}
