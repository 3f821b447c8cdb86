import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { Hook } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { Call } from '../core/call.ts'
import { type HookClient, HookFailure } from './client.ts'

/** Request to a hook, and the conversion of a replaced body. */
interface Question<T> {
  readonly body: () => string
  /** Throws HookFailure for an invalid body. */
  readonly replace: (body: unknown) => T
}

/** Calls hooks, and applies their decisions and their `on_error`. */
export interface Consult {
  /** Calls a hook. Returns the replacement; undefined without one. Throws AppError when the call is rejected. */
  call<T>(hook: Hook, call: Call, question: Question<T>): Promise<T | undefined>
  /** Handles a hook that could not be called or gave no valid answer. Throws AppError unless `on_error` is `allow`. */
  failed(hook: Hook, call: Call, failure: HookFailure): void
  /** Notifies a hook of an answer that has been sent. Never rejects. */
  notify(hook: Hook, call: Call, body: () => string): Promise<void>
  /** Logs a hook that could not be notified. */
  notifyFailed(hook: Hook, call: Call, failure: HookFailure): void
}

interface Options {
  readonly client: HookClient
  readonly log: Log
}

/** Maximum concurrent notifications of streams. Each retains an answer in memory. */
const maxNotifications = 100

export function createConsult({ client, log }: Options): Consult {
  const failed: Consult['failed'] = (hook, call, failure) => {
    const isOver = hook.onError === 'block'
    log.warn(factsOf(hook, call, failure), `a hook failed; the call ${isOver ? 'is rejected' : 'continues'}`)
    if (isOver) throw rejection('upstream_unreachable', `hook ${hook.name} failed: ${failure.message}`, { hook, call })
  }
  let inFlight = 0
  const notifyFailed: Consult['notifyFailed'] = (hook, call, failure) =>
    log.warn(factsOf(hook, call, failure), 'cannot notify a hook of a stream')
  return {
    failed,
    notifyFailed,
    async call(hook, call, { body, replace }) {
      try {
        const verdict = await client.send(hook, body(), call.signal)
        if (call.signal.aborted || verdict.action === 'allow') return undefined
        if (verdict.action === 'replace') return replace(verdict.body)
        const message = verdict.message ?? `request was blocked by hook ${hook.name}`
        throw rejection('invalid_request', message, { hook, call })
      } catch (error) {
        if (!(error instanceof HookFailure)) throw error
        if (!call.signal.aborted) failed(hook, call, error)
        return undefined
      }
    },
    async notify(hook, call, body) {
      if (inFlight >= maxNotifications)
        return notifyFailed(
          hook,
          call,
          new HookFailure(`${maxNotifications} notifications of streams are in flight already`),
        )
      inFlight++
      try {
        const { action } = await client.send(hook, body(), undefined)
        const facts = { ...factsOf(hook, call), action }
        if (action !== 'allow') log.warn(facts, 'a hook rejected a stream that has already been sent')
      } catch (error) {
        notifyFailed(
          hook,
          call,
          error instanceof HookFailure ? error : new HookFailure('internal error', { cause: error }),
        )
      } finally {
        inFlight--
      }
    },
  }
}

const factsOf = (hook: Hook, { requestId }: Call, failure?: HookFailure) => ({
  hook: hook.name,
  request_id: requestId,
  ...(failure && { reason: failure.message, cause: textOfCause(failure.cause) }),
})

const textOfCause = (cause: unknown): string | undefined =>
  cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : undefined

interface Ended {
  readonly hook: Hook
  readonly call: Call
}

function rejection(code: keyof typeof codes, message: string, { hook, call }: Ended): AppError {
  const headers = {
    'x-switchyard-request-id': call.requestId,
    'x-switchyard-error-source': 'gateway',
    'x-switchyard-hook': hook.name,
    // A retry would pay for another answer and be rejected again.
    ...(hook.phase === 'post' && { 'x-should-retry': 'false' }),
  }
  return new AppError(code, message, { headers, fields: { code: codes[code] } })
}

const codes = {
  invalid_request: 'blocked_by_hook',
  upstream_unreachable: 'hook_failed',
} as const satisfies Partial<Record<ErrorCode, string>>
