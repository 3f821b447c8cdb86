import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How long a client may send the rest of a body after its answer, as for any other request. */
const graceMs = 60_000

/** Requests whose bodies may take longer than the time limit of a request. */
export interface SlowBodies {
  /** Lifts the time limit of a request. The caller must bound the waits for its body, and call the returned function. */
  allow(request: IncomingMessage): () => void
  /** Reports whether the request that arrives on a socket has no time limit. */
  has(socket: Socket): boolean
}

export function createSlowBodies(): SlowBodies {
  const sockets = new WeakSet<Socket>()
  return {
    has: socket => sockets.has(socket),
    allow(request) {
      const { socket } = request
      sockets.add(socket)
      return () => {
        sockets.delete(socket)
        if (!request.complete) dropRest(request)
      }
    },
  }
}

/**
 * Reads the rest of a body, so that its client gets to read the answer. Node no longer limits the time of a request whose
 * time was over once.
 */
function dropRest(request: IncomingMessage): void {
  // Later, because a reader that was interrupted must first release the request.
  setImmediate(() => request.resume())
  const timer = setTimeout(() => request.complete || request.socket.destroy(), graceMs)
  request.once('close', () => clearTimeout(timer))
}
