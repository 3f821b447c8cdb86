import { createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { a2aKind } from '../../../src/server/runtimes/a2a/kind.ts'
import { onLoopback } from '../service/on-loopback.ts'

/** Starts a server that answers every request with a head, and then the same bytes again and again. */
export async function startRawServer(t: TestContext) {
  let head = ''
  let bytes = ''
  const server = createServer(socket => {
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
  const { host, url, close } = await onLoopback(server)
  t.after(close)
  const outbound = createOutbound({ allow: [host] })
  const kind = a2aKind({ outbound, isListed: address => outbound.lists(address), memories: async () => '' })
  const endpoint = { id: 'remote', apiBase: url, apiKey: undefined }

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
