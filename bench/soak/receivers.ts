import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const paths = ['/v1/traces', '/v1/logs', '/sink', '/webhook'] as const
type Path = (typeof paths)[number]

/** One local program in the place of a collector, a log sink and a receiver of webhooks. It accepts everything. */
export interface Receivers {
  readonly origin: string
  /** Requests so far. */
  counts(): Readonly<Record<Path, number>>
  stop(): void
}

export async function startReceivers(): Promise<Receivers> {
  const counts: Record<string, number> = {}
  const server: Server = createServer((request, response) => {
    const path = request.url ?? ''
    counts[path] = (counts[path] ?? 0) + 1
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    counts: () => Object.fromEntries(paths.map(path => [path, counts[path] ?? 0])) as Record<Path, number>,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
