// A real proxy between client and server that alters requests and responses.

export interface ProxiedRequest {
  readonly method: string;
  /** With its query. */
  path: string;
  readonly headers: Headers;
  body: string;
}

export interface ProxiedResponse {
  readonly request: ProxiedRequest;
  status: number;
  readonly headers: Headers;
  body: string;
}

/** Alters requests or responses, and may keep state between them. */
export interface Alteration {
  readonly request?: (request: ProxiedRequest) => void;
  readonly response?: (response: ProxiedResponse) => void;
}

export interface AlteringProxy {
  readonly url: string;
  /** Applies to everything from now on. */
  alter(alteration: Alteration): void;
  stop(): Promise<void>;
}

/** Starts a proxy to `target` that doesn't alter anything yet. */
export function startAlteringProxy(target: string): AlteringProxy {
  let current: Alteration = {};
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(received) {
      const { pathname, search } = new URL(received.url);
      const { headers, method } = received;
      const request = { method, path: pathname + search, headers: new Headers(headers), body: await received.text() };
      request.headers.delete("Content-Length");
      current.request?.(request);
      const { body } = request;
      const sent = { method, headers: request.headers, redirect: "manual", ...(body && { body }) } as const;
      const answer = await fetch(target + request.path, sent);
      const response = {
        request,
        status: answer.status,
        headers: new Headers(answer.headers),
        body: await answer.text(),
      };
      current.response?.(response);
      if (method !== "HEAD") response.headers.delete("Content-Length");
      return new Response(response.body || null, response);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    alter: (alteration) => {
      current = alteration;
    },
    stop: () => server.stop(true),
  };
}
