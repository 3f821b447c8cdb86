import type { AddressInfo, Server, Socket } from 'node:net'

/** Makes a server listen on 127.0.0.1, by default at a free port. `close` breaks the connections that are open. */
export async function onLoopback(server: Server, wantedPort = 0) {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(wantedPort, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const host = `127.0.0.1:${port}`
  return {
    port,
    host,
    url: `http://${host}`,
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
