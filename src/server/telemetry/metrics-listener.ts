import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { ListenAddress } from '../config/export-settings.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { pageFor } from './metrics/formats.ts'
import type { Metrics } from './metrics/metrics.ts'

interface Deps {
  readonly metrics: Pick<Metrics, 'scrape'>
  readonly address: ListenAddress
  readonly log: Pick<Log, 'warn'>
}

/** Server of a separate address that serves `GET /metrics` without a key, and nothing else. */
export function createMetricsListener({ metrics, address, log }: Deps) {
  async function answer({ method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    if ((method !== 'GET' && method !== 'HEAD') || url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('this address serves only GET /metrics\n')
      return
    }
    const { contentType, body } = pageFor(headers.accept, await metrics.scrape())
    response.writeHead(200, { 'content-type': contentType }).end(body)
  }

  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000 }, (request, response) => {
    answer(request, response).catch((cause: unknown) => {
      log.warn({ err: cause }, 'cannot answer a scrape of metrics')
      response.destroy()
    })
  })

  return {
    /** Rejects with `unavailable` when the address cannot be used. */
    async start(): Promise<void> {
      const { host, port } = address
      // Exclusive: processes of WORKERS have an address each and would otherwise share the first one.
      server.listen({ host, port, exclusive: true })
      try {
        await once(server, 'listening')
      } catch (cause) {
        throw new AppError('unavailable', `cannot listen on metrics.listen ${host}:${port}: ${messageOf(cause)}`, {
          cause,
        })
      }
    },
    async stop(): Promise<void> {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
