import { AppError } from '../platform/errors.ts'

/** Lets in as many running streams as one process can keep smooth. */
export interface Admission {
  /** Counts a stream in; the result counts it out. Throws `overloaded` when the process is full. */
  enter(): () => void
  readonly running: number
}

/** A cap of `maxStreams`. A full process refuses at once, so that what runs stays smooth. Source: Gateway, section 1. */
export function createAdmission(maxStreams: number): Admission {
  let running = 0
  return {
    get running() {
      return running
    },
    enter() {
      if (running >= maxStreams) {
        throw new AppError('overloaded', `this server runs ${maxStreams} streams, its limit; try again`, {
          headers: { 'retry-after': '2' },
        })
      }
      running++
      let left = false
      return () => {
        if (!left) running--
        left = true
      }
    },
  }
}
