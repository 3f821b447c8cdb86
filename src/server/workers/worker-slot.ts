import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import type { Log } from '../platform/log.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { isEarly, restartDelayMs } from './restart-delay.ts'

type Listening = Extract<FromWorker, { type: 'listening' }>

interface Options {
  /** From 1; it is in each line of the log that the process writes. */
  readonly number: number
  readonly start: Extract<ToWorker, { type: 'start' }>
  readonly log: Log
}

/** One of the processes of `WORKERS`: a process that ends is replaced until `stop`. */
export interface WorkerSlot {
  /** The running process among those of the database; undefined while there is none that listens. */
  readonly id: string | undefined
  /** Resolves when the first process listens; rejects with its reason when that one ends before. */
  start(): Promise<Listening>
  send(message: ToWorker): void
  /** Asks the process to stop, kills it after `patienceMs`, and resolves when it has ended. None follows it. */
  stop(message: Extract<ToWorker, { type: 'stop' }>, patienceMs: number): Promise<void>
}

export function createWorkerSlot({ number, start, log }: Options): WorkerSlot {
  let worker: Worker | undefined
  let id: string | undefined
  let hasServed = false
  let isStopping = false
  let earlyEnds = 0
  let timer: NodeJS.Timeout | undefined

  /** Starts a process; what it says first, and what it was when it ended. */
  function launch(): { listening: Promise<Listening>; ended: Promise<string> } {
    const startedAt = performance.now()
    const launched = cluster.fork()
    worker = launched
    // A message to a process that has just ended is lost, and its end is seen by itself.
    launched.on('error', cause => log.debug({ err: cause, worker: number }, 'a message to a worker was lost'))
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
        const reason = failure ?? `it ended with ${signal ?? `exit code ${code}`}`
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
    const delayMs = restartDelayMs({ livedMs, earlyEnds })
    earlyEnds = isEarly(livedMs) ? earlyEnds + 1 : 0
    log.error({ worker: number, pid, reason, restart_in_ms: delayMs }, 'a worker ended and is replaced')
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
    async stop(message, patienceMs) {
      isStopping = true
      clearTimeout(timer)
      const stopping = worker
      if (!stopping || stopping.isDead()) return
      const ended = new Promise(resolve => stopping.once('exit', resolve))
      stopping.send(message)
      const tooLong = setTimeout(() => stopping.process.kill('SIGKILL'), patienceMs)
      await ended
      clearTimeout(tooLong)
    },
  }
}
