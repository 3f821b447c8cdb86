import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/** Returns a free port of `host`. Another program can take it before the caller listens. Rejects with Node's error. */
export async function freePort(host: string): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port: 0, exclusive: true }, resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
