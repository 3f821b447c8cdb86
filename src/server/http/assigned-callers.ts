import type { IncomingMessage } from 'node:http'
import type { Caller } from './caller.ts'

/** Callers of requests from programs of this server, which are authenticated by their socket instead of a key. */
export function createAssignedCallers() {
  const callers = new WeakMap<IncomingMessage, Caller>()
  return {
    /** Assigns a caller to a request. Must be called before the request is passed to the server. */
    assign(request: IncomingMessage, caller: Caller): void {
      callers.set(request, caller)
    },
    /** Returns the assigned caller; undefined for other requests. */
    of: (request: IncomingMessage): Caller | undefined => callers.get(request),
  }
}
