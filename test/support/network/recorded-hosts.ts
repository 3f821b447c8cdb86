import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkForTests } from './network.ts'
import { tlsForTests } from './tls-upstream.ts'

/** A request that reached a host. */
export interface RecordedRequest {
  readonly host: string
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
}

export const canary = 'tok-canary-0123456789'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** HTTPS hosts that record their requests, and sandboxes that reach them. By default a host returns the body. */
export async function recordedHosts(names: readonly string[], vault: Readonly<Record<string, string>> = {}) {
  const tls = await tlsForTests()
  const seen: RecordedRequest[] = []
  const answers = new Map<string, Answer>()
  const echo: Answer = (request, response) => void request.pipe(response)
  const hosts = await Promise.all(
    names.map(async host => {
      const { port } = await tls.serve(host, (request, response) => {
        const { method = '', url: path = '', headers, rawHeaders } = request
        seen.push({ host, method, path, headers, rawHeaders })
        const answer = answers.get(path) ?? echo
        answer(request, response)
      })
      return { host, port, url: `https://${host}:${port}` }
    }),
  )
  const network = await networkForTests({
    names: [...names, 'wrong.example'],
    vault: { TOKEN: canary, ...vault },
    ca: tls.ca,
  })
  return {
    ...network,
    tls,
    hosts,
    ports: hosts.map(({ port }) => port),
    answers,
    /** Runs a command in a session with this network; returns its output and the requests that it sent. */
    async sent(config: unknown, command: string, id?: string) {
      seen.length = 0
      const result = await network.run(config, command, id)
      return { ...result, requests: [...seen] }
    },
  }
}
