import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const sweepMs = 50

/**
 * Returns a function that closes the server: it accepts no more connections, lets requests finish, and closes the
 * remaining connections after `graceMs`. Fastify closes only connections that are idle at that moment. Connections
 * whose response ends later, or that were opened in advance without a request, as browsers do, would stay for the whole
 * keep-alive timeout.
 */
export function createCloseServer({ server, close }: Pick<FastifyInstance, 'server' | 'close'>) {
  const unused = new Set<Socket>()
  server.on('connection', socket => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))

  return async (graceMs: number): Promise<void> => {
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      for (const socket of unused) socket.destroy()
    }, sweepMs)
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    try {
      await close()
    } finally {
      clearInterval(sweep)
      clearTimeout(cut)
    }
  }
}
