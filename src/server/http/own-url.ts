import type { Server } from 'node:net'

/** Where this process answers. A PORT of 0 stands for the port that the system chose, known once the server listens. */
export function ownUrl(server: Pick<Server, 'address'>, { host, port }: { host: string; port: number }): string {
  const address = server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${actual}`
}
