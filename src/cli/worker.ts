import process from 'node:process'
import type { StopOptions } from '../server/running-server.ts'
import type { FromWorker, ToWorker } from '../server/workers/messages.ts'
import { exitCodes } from './exit-codes.ts'
import { startWorker, type WorkerStart } from './local-service.ts'

// Program of one WORKERS process. `serve` starts it and sends its settings. It ends with `serve`: Node exits the
// process when its parent has exited.

/** A supervisor may send SIGTERM to all processes. The parent has this long to send its stop message first. */
const parentGraceMs = 500

const stopped = new AbortController()
let running: Awaited<ReturnType<typeof startWorker>> | undefined

/** Stops once; later requests are ignored. */
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
    // Exit only after the message has been sent.
    process.send?.(failed, () => process.exit(exitCodes.failed))
  }
}

// A terminal sends Ctrl-C and hang-up to all processes; the parent handles them.
for (const signal of ['SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => {})
process.on('SIGTERM', () => setTimeout(end, parentGraceMs))

process.on('message', (message: ToWorker) => {
  if (message.type === 'start') void start(message)
  else if (message.type === 'reload') running?.reload()
  else end(message)
})
