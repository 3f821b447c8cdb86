import type { ErrorCode } from '../../../contract/errors.ts'
import type { Hook } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { Call } from '../core/call.ts'
import { type HookClient, HookFailure } from './client.ts'

/** What a hook is asked, and what is made of the body that it answers with. */
interface Question<T> {
  readonly body: () => string
  /** Throws HookFailure for a body that is not usable. */
  readonly replace: (body: unknown) => T
}

/** Asks hooks about calls, and applies what they and their `on_error` decide. */
export interface Consult {
  /** What a hook makes of a call; undefined when it stays as it is. Throws where the call ends. */
  ask<T>(hook: Hook, call: Call, question: Question<T>): Promise<T | undefined>
  /** For a hook that cannot be asked or gave no valid answer: throws unless the call goes on. */
  failed(hook: Hook, call: Call, failure: HookFailure): void
  /** Tells a hook of an answer that has been sent. Never rejects. */
  tell(hook: Hook, call: Call, body: () => string): Promise<void>
  /** For a hook that could not be told. */
  untold(hook: Hook, call: Call, failure: HookFailure): void
}

interface Options {
  readonly client: HookClient
  readonly log: Log
}

/** Streams at a time that hooks are told of: their answers are kept meanwhile. */
const maxTold = 100

export function createConsult({ client, log }: Options): Consult {
  const failed: Consult['failed'] = (hook, call, failure) => {
    const isOver = hook.onError === 'block'
    log.warn(factsOf(hook, call, failure), `a hook failed; the call ${isOver ? 'is refused' : 'goes on'}`)
    if (isOver) throw refusal('upstream_unreachable', `hook ${hook.name} failed: ${failure.message}`, { hook, call })
  }
  let telling = 0
  const untold: Consult['untold'] = (hook, call, failure) =>
    log.warn(factsOf(hook, call, failure), 'a hook could not be told of a stream')
  return {
    failed,
    untold,
    async ask(hook, call, { body, replace }) {
      try {
        const verdict = await client.ask(hook, body(), call.signal)
        if (call.signal.aborted || verdict.action === 'allow') return undefined
        if (verdict.action === 'replace') return replace(verdict.body)
        const message = verdict.message ?? `the request was blocked by hook ${hook.name}`
        throw refusal('invalid_request', message, { hook, call })
      } catch (error) {
        if (!(error instanceof HookFailure)) throw error
        if (!call.signal.aborted) failed(hook, call, error)
        return undefined
      }
    },
    async tell(hook, call, body) {
      if (telling >= maxTold) return untold(hook, call, new HookFailure(`${maxTold} streams are being told of already`))
      telling++
      try {
        const { action } = await client.ask(hook, body(), undefined)
        const facts = { ...factsOf(hook, call), action }
        if (action !== 'allow') log.warn(facts, 'a hook objects to a stream that has been sent')
      } catch (error) {
        untold(hook, call, error instanceof HookFailure ? error : new HookFailure('internal error', { cause: error }))
      } finally {
        telling--
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

function refusal(code: keyof typeof codes, message: string, { hook, call }: Ended): AppError {
  const headers = {
    'x-switchyard-request-id': call.requestId,
    'x-switchyard-error-source': 'gateway',
    'x-switchyard-hook': hook.name,
    // Another try would pay for another answer, and end the same way.
    ...(hook.phase === 'post' && { 'x-should-retry': 'false' }),
  }
  return new AppError(code, message, { headers, fields: { code: codes[code] } })
}

const codes = {
  invalid_request: 'blocked_by_hook',
  upstream_unreachable: 'hook_failed',
} as const satisfies Partial<Record<ErrorCode, string>>
