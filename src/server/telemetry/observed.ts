import type { Budgets } from '../budgets/budgets.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { AppError } from '../platform/errors.ts'
import type { Usage } from '../usage/usage.ts'
import { noTelemetry, type SweepName, type Telemetry } from './telemetry.ts'

// Each function returns what it was given while telemetry is off, so that calls then take the same path as without it.

/** Reports every booked call. */
export function observedUsage<U extends Pick<Usage, 'book'>>(usage: U, telemetry: Telemetry): U {
  if (telemetry === noTelemetry) return usage
  return {
    ...usage,
    book(row) {
      usage.book(row)
      telemetry.called(row)
    },
  }
}

/** Reports every call that the gateway rejects. The caller gets the same promise. */
export function observedCall(call: Gateway['call'], telemetry: Telemetry): Gateway['call'] {
  if (telemetry === noTelemetry) return call
  const onError = (error: unknown): void => telemetry.rejected(error instanceof AppError ? error.code : 'internal')
  return (given, sink) => {
    const ending = call(given, sink)
    ending.catch(onError)
    return ending
  }
}

/** Reports every reservation and every rejection by a limit. */
export function observedBudgets<B extends Pick<Budgets, 'reserve'>>(budgets: B, telemetry: Telemetry): B {
  if (telemetry === noTelemetry) return budgets
  const onError = (error: unknown): void => telemetry.reserved(error instanceof AppError ? error.code : 'internal')
  return {
    ...budgets,
    reserve(request) {
      const reserving = budgets.reserve(request)
      if (reserving instanceof Promise) reserving.then(() => telemetry.reserved('reserved'), onError)
      else telemetry.reserved('reserved')
      return reserving
    },
  }
}

/** Reports how long a sweep takes. */
export function observedSweep<Given extends readonly unknown[], Result>(
  name: SweepName,
  sweep: (...given: Given) => Promise<Result>,
  telemetry: Telemetry,
): (...given: Given) => Promise<Result> {
  if (telemetry === noTelemetry) return sweep
  return async (...given) => {
    const startedMs = performance.now()
    let isFailed = true
    try {
      const result = await sweep(...given)
      isFailed = false
      return result
    } finally {
      telemetry.swept(name, performance.now() - startedMs, isFailed)
    }
  }
}
