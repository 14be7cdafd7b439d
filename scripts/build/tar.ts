// Creates a tar archive (POSIX.1-2001, ustar) that depends only on its contents: the same files give the same bytes, on every day and machine.

/** Returns the archive of `files`. @param files the contents by path; a path has at most 100 bytes */
export function toTar(files: ReadonlyMap<string, Uint8Array>): Uint8Array<ArrayBuffer> {
  const parts = [...files]
    .sort()
    .flatMap(([path, content]) => [
      header(path, content.length),
      content,
      new Uint8Array((512 - (content.length % 512)) % 512),
    ]);
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(1024)]));
}

function header(path: string, size: number): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`the path is too long for an archive: ${path}`);
  const block = Buffer.alloc(512);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(path, 0);
  block.write(octal(0o644, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(packageTime, 11), 136);
  block.write(" ".repeat(8), 148);
  block.write("0", 156);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** The time that npm gives every file of a package: 1985-10-26 08:15 UTC. */
const packageTime = Date.UTC(1985, 9, 26, 8, 15) / 1000;
