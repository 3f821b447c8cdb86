import type { Limits } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'

/** Lets in as many calls as one process can serve without a stutter. */
export interface Admission {
  /** Lets a call in; the result counts it out. Throws `overloaded` when the process is full or late. */
  enter(visitor: Visitor): () => void
  /** Running streams. */
  readonly running: number
}

interface Visitor {
  /** Only streams are counted. */
  readonly isStream: boolean
  /** Our own sessions have a limit of their own, and a refusal would fail a prompt: a late loop only slows them. */
  readonly isOfSession: boolean
}

interface Options {
  readonly limits: () => Pick<Limits, 'maxStreams' | 'maxLoopDelayMs'>
  /** Mean delay of the event loop. */
  readonly loopDelayMs: () => number
  /** Why there are no descriptors for more calls; undefined while there are. */
  readonly shortage?: (() => string | undefined) | undefined
}

const nothing = () => {}

/** A full process refuses at once, so that what runs stays smooth. Source: Gateway, section 1. */
export function createAdmission({ limits, loopDelayMs, shortage }: Options): Admission {
  let running = 0
  return {
    get running() {
      return running
    },
    enter({ isStream, isOfSession }) {
      const { maxStreams, maxLoopDelayMs } = limits()
      if (!isOfSession && loopDelayMs() > maxLoopDelayMs)
        throw overloaded('this server is late with what it does; try again')
      const reason = isOfSession ? undefined : shortage?.()
      if (reason !== undefined) throw overloaded(`server is overloaded: ${reason}`)
      if (!isStream) return nothing
      if (running >= maxStreams) throw overloaded(`this server runs ${maxStreams} streams, its limit; try again`)
      running++
      let left = false
      return () => {
        if (!left) running--
        left = true
      }
    },
  }
}

const overloaded = (message: string): AppError =>
  new AppError('overloaded', message, { headers: { 'retry-after': '2' } })
