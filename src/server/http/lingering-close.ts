import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** How long a client may send the rest of a body after its answer, as for any other request. */
const graceMs = 60_000

/**
 * Makes a server read the rest of a body before it closes a connection, as `Connection: close` asks for, after an early
 * answer. Node closes at once, and the system then discards what the client has not read yet: the answer.
 */
export function closeLingering(server: Server): void {
  const requests = new WeakMap<Socket, IncomingMessage>()
  server.on('request', request => requests.set(request.socket, request))
  server.on('connection', socket => {
    const close = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const request = requests.get(socket)
      if (!request || request.complete || socket.destroyed) close()
      else linger(socket, request)
    }
  })
}

/** Ends the answer, and closes the connection once the body has arrived. */
function linger(socket: Socket, request: IncomingMessage): void {
  socket.end()
  const timer = setTimeout(() => socket.destroy(), graceMs)
  socket.once('close', () => clearTimeout(timer))
  request.once('end', () => socket.destroy())
  request.resume()
}
