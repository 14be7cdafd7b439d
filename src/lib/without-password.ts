/** The address of a database without its password, for messages. */
export function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/?]*):[^@/?]*@/, "$1:...@");
}
