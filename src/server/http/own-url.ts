import type { Server } from 'node:net'

/** Returns the URL of this process. Resolves PORT 0 to the actual port once the server listens. */
export function ownUrl(server: Pick<Server, 'address'>, { host, port }: { host: string; port: number }): string {
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${actual}`
}
