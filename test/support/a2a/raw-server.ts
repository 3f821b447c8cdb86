import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { a2aKind } from '../../../src/server/runtimes/a2a/kind.ts'

/** Starts a server that answers every request with a head, and then the same bytes again and again. */
export async function startRawServer(t: TestContext) {
  let head = ''
  let bytes = ''
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(head)
      const more = (): void => {
        while (!socket.destroyed && socket.write(bytes));
      }
      socket.on('drain', more)
      more()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const outbound = createOutbound({ allow: [`127.0.0.1:${port}`] })
  const kind = a2aKind({ outbound, isListed: url => outbound.lists(url), memories: async () => '' })
  const endpoint = { id: 'remote', apiBase: `http://127.0.0.1:${port}`, apiKey: undefined }

  return {
    /** Returns why a check fails at such a server. */
    async cardError(sentHead: string, sentBytes: string): Promise<string> {
      head = sentHead
      bytes = sentBytes
      return kind.check(endpoint, AbortSignal.timeout(60_000)).then(
        () => 'no error',
        (error: Error) => error.message,
      )
    },
  }
}
