import type { FastifyInstance } from 'fastify'

const sweepMs = 50

/**
 * Takes no more connections, lets requests finish, and cuts what is left after `graceMs`. Fastify alone ends the
 * connections that are idle at this moment; one whose answer ends later would stay for the whole keep-alive time.
 */
export async function closeServer(app: FastifyInstance, graceMs: number): Promise<void> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs)
  const cut = setTimeout(() => app.server.closeAllConnections(), graceMs)
  try {
    await app.close()
  } finally {
    clearInterval(sweep)
    clearTimeout(cut)
  }
}
