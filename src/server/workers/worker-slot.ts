import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import type { Log } from '../platform/log.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { isEarly, restartDelayMs } from './restart-delay.ts'

type Listening = Extract<FromWorker, { type: 'listening' }>

interface Options {
  /** Starts at 1; each log line of the process contains it. */
  readonly number: number
  readonly start: Extract<ToWorker, { type: 'start' }>
  readonly log: Log
}

/** One of the `WORKERS` processes. A process that exits is replaced until `stop`. */
export interface WorkerSlot {
  /** Replica id of the running process; undefined while it does not listen. */
  readonly id: string | undefined
  /** Resolves when the first process listens; rejects with the reason when it exits before. */
  start(): Promise<Listening>
  send(message: ToWorker): void
  /** Asks the process to stop, kills it after `killAfterMs`, and resolves when it has exited. It is not replaced. */
  stop(message: Extract<ToWorker, { type: 'stop' }>, killAfterMs: number): Promise<void>
}

export function createWorkerSlot({ number, start, log }: Options): WorkerSlot {
  let worker: Worker | undefined
  let id: string | undefined
  let hasServed = false
  let isStopping = false
  let earlyExits = 0
  let timer: NodeJS.Timeout | undefined

  /** Starts a process; returns its first message and the reason of its exit. */
  function launch(): { listening: Promise<Listening>; ended: Promise<string> } {
    const startedAt = performance.now()
    const launched = cluster.fork()
    worker = launched
    // A message to a process that has just exited fails; its exit is handled below.
    launched.on('error', cause => log.debug({ err: cause, worker: number }, 'could not send a message to a worker'))
    let failure: string | undefined
    const listening = new Promise<Listening>(resolve => {
      launched.on('message', (message: FromWorker) => {
        if (message.type === 'failed') failure = message.message
        else resolve(message)
      })
    })
    const ended = new Promise<string>(resolve => {
      launched.once('exit', (code: number | null, signal: string | null) => {
        id = undefined
        worker = undefined
        const reason = failure ?? `exited with ${signal ?? `code ${code}`}`
        const pid = launched.process.pid
        if (hasServed && !isStopping) replace({ reason, pid, livedMs: performance.now() - startedAt })
        resolve(reason)
      })
    })
    void listening.then(message => {
      id = message.id
      hasServed = true
    })
    launched.send(start)
    return { listening, ended }
  }

  function replace({ reason, pid, livedMs }: { reason: string; pid: number | undefined; livedMs: number }): void {
    const delayMs = restartDelayMs({ livedMs, earlyExits })
    earlyExits = isEarly(livedMs) ? earlyExits + 1 : 0
    log.error({ worker: number, pid, reason, restart_in_ms: delayMs }, 'worker exited; starting a replacement')
    timer = setTimeout(launch, delayMs)
  }

  return {
    get id() {
      return id
    },
    async start() {
      const { listening, ended } = launch()
      const first = await Promise.race([listening, ended])
      if (typeof first === 'string') throw new Error(`worker ${number} did not start: ${first}`)
      return first
    },
    send: message => void worker?.send(message),
    async stop(message, killAfterMs) {
      isStopping = true
      clearTimeout(timer)
      const stopping = worker
      if (!stopping || stopping.isDead()) return
      const ended = new Promise(resolve => stopping.once('exit', resolve))
      stopping.send(message)
      const killTimer = setTimeout(() => stopping.process.kill('SIGKILL'), killAfterMs)
      await ended
      clearTimeout(killTimer)
    },
  }
}
