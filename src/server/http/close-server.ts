import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const sweepMs = 50

/**
 * A function that closes the server: it takes no more connections, lets requests finish, and cuts what is left after
 * `graceMs`. Fastify alone ends the connections that are idle at that moment. One whose answer ends later would stay for
 * the whole keep-alive time, and so would one that was opened in advance and never used, as browsers and fetch do.
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
