// The part of the package saxen, a parser for XML, that this program uses. The package has no types.

declare module "saxen" {
  export class Parser {
    /** Adds a handler. Texts and the values of attributes have their references. An element without content has an opening and a closing tag, too. @throws the errors that handlers throw */
    on(event: "openTag", handler: (name: string, attributes: () => Readonly<Record<string, string>>) => void): this;
    on(event: "closeTag", handler: (name: string) => void): this;
    on(event: "text", handler: (text: string) => void): this;
    on(event: "cdata", handler: (text: string) => void): this;
    on(event: "error", handler: (error: Error) => void): this;
    /** Parses the next part of a document. */
    write(text: string): this;
    end(): this;
  }
}
