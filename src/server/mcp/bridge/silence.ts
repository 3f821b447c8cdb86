import { timedOut } from '../client/read-answer.ts'
import type { RegisteredServer } from '../registry/server.ts'

/** How long a server may be silent, and how long a client may take to answer a question. */
export const silenceMs = 60_000
export const questionMs = 10 * 60_000

/** Aborts `signal` when a server is silent for too long. */
export function watchSilence(server: RegisteredServer) {
  const silent = new AbortController()
  const expire = () => silent.abort(timedOut(server))
  let timer = setTimeout(expire, silenceMs)
  return {
    signal: silent.signal,
    /** Starts the time again: the server sent something. */
    heard(): void {
      clearTimeout(timer)
      timer = setTimeout(expire, silenceMs)
    },
    /** Stops the time: the server waits for its client. */
    stop: (): void => clearTimeout(timer),
  }
}
