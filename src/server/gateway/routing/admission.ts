import type { Limits } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'

/** Admission control: limits the calls of one process to what it can serve without delays. */
export interface Admission {
  /** Admits a call; the returned function ends it. Throws `overloaded` at a limit. */
  enter(call: AdmittedCall): () => void
  /** Streams in flight. */
  readonly running: number
}

interface AdmittedCall {
  /** Only streams count toward the limit. */
  readonly isStream: boolean
  /** Sessions have their own limit: their calls are admitted while the event loop is late. */
  readonly isOfSession: boolean
}

interface Options {
  readonly limits: () => Pick<Limits, 'maxStreams' | 'maxLoopDelayMs'>
  /** Mean delay of the event loop, in milliseconds. */
  readonly loopDelayMs: () => number
  /** Returns why there are no file descriptors for more calls; undefined while there are. */
  readonly shortage?: (() => string | undefined) | undefined
}

const noop = () => {}

/** Creates the admission control. Rejects calls instead of queueing them. Source: Gateway, section 1. */
export function createAdmission({ limits, loopDelayMs, shortage }: Options): Admission {
  let running = 0
  return {
    get running() {
      return running
    },
    enter({ isStream, isOfSession }) {
      const { maxStreams, maxLoopDelayMs } = limits()
      if (!isOfSession && loopDelayMs() > maxLoopDelayMs)
        throw overloaded(`server is overloaded; retry after ${retryAfterSeconds} s`)
      const reason = isOfSession ? undefined : shortage?.()
      if (reason !== undefined) throw overloaded(`server is overloaded: ${reason}`)
      if (!isStream) return noop
      if (running >= maxStreams)
        throw overloaded(
          `server is at its limit of ${maxStreams} concurrent streams; retry after ${retryAfterSeconds} s`,
        )
      running++
      let isEnded = false
      return () => {
        if (!isEnded) running--
        isEnded = true
      }
    },
  }
}

const retryAfterSeconds = 2

const overloaded = (message: string): AppError =>
  new AppError('overloaded', message, { headers: { 'retry-after': String(retryAfterSeconds) } })
