// Stands in for curl where it isn't installed: `-k`, `-s`, `-S`, `-H <header>` and the address.

const headers = new Headers();
let url = "";
for (let at = 2; at < process.argv.length; at++) {
  const argument = process.argv[at] as string;
  if (argument === "-H") {
    const [name = "", value = ""] = (process.argv[++at] as string).split(/: (.*)/s);
    headers.set(name, value);
  } else if (!argument.startsWith("-")) url = argument;
}
const response = await fetch(url, { headers, tls: { rejectUnauthorized: !process.argv.includes("-k") } });
process.stdout.write(await response.text());

export {};
