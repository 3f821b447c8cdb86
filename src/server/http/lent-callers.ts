import type { IncomingMessage } from 'node:http'
import type { Caller } from './caller.ts'

/** Requests of programs that this server has started: their caller is known from the way they came in, not from a key. */
export function createLentCallers() {
  const callers = new WeakMap<IncomingMessage, Caller>()
  return {
    /** Says who makes a request, before it is handed to the server. */
    lend(request: IncomingMessage, caller: Caller): void {
      callers.set(request, caller)
    },
    /** Undefined for a request that came in by any other way. */
    of: (request: IncomingMessage): Caller | undefined => callers.get(request),
  }
}
