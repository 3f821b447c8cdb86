import process from 'node:process'
import type { StopOptions } from '../server/running-server.ts'
import type { FromWorker, ToWorker } from '../server/workers/messages.ts'
import { exitCodes } from './exit-codes.ts'
import { startWorker, type WorkerStart } from './local-service.ts'

// The program of one process of WORKERS. `serve` starts it and sends what it needs. It ends with `serve`: Node ends it at once when
// its parent is gone.

/** A supervisor may send SIGTERM to all processes. The parent, which knows how they all stop, has so long to say it first. */
const parentFirstMs = 500

const stopped = new AbortController()
let running: Awaited<ReturnType<typeof startWorker>> | undefined

/** The first request counts. */
function end(options: StopOptions = {}): void {
  if (stopped.signal.aborted) return
  stopped.abort()
  void Promise.resolve(running?.stop(options)).finally(() => process.exit(exitCodes.ok))
}

async function start(message: WorkerStart): Promise<void> {
  try {
    running = await startWorker(process.env, message, stopped.signal)
    const { id, url, sandboxDriver, models } = running
    process.send?.({ type: 'listening', id, url, sandboxDriver, models } satisfies FromWorker)
  } catch (error) {
    const failed: FromWorker = { type: 'failed', message: error instanceof Error ? error.message : String(error) }
    // Not before the message is written.
    process.send?.(failed, () => process.exit(exitCodes.failed))
  }
}

// A terminal sends Ctrl-C and its end to all processes: they are for the parent.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {})
process.on('SIGTERM', () => setTimeout(end, parentFirstMs))

process.on('message', (message: ToWorker) => {
  if (message.type === 'start') void start(message)
  else if (message.type === 'reload') running?.reload()
  else end(message)
})
