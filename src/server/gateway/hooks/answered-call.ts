import type { Hook } from '../../config/config.ts'
import type { Outcome, Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import { type Answer, AnswerTap, sendAnswer } from './answer-tap.ts'
import { answerBody, type CheckedCall, withAnswerBody } from './bodies.ts'
import { HookFailure } from './client.ts'
import type { Consult } from './consult.ts'

interface Options {
  readonly gateway: Pick<Gateway, 'call'>
  readonly checked: CheckedCall
  readonly sink: Sink
  /** Hooks for the answer. */
  readonly hooks: readonly Hook[]
  readonly consult: Consult
}

/** An answer for hooks. */
interface Answered {
  readonly checked: CheckedCall
  readonly answer: Answer
  readonly outcome: Outcome['outcome']
}

/** Maximum size of an answer that is recorded for hooks. */
const maxAnswerBytes = 16 * 1024 * 1024
const tooLong = new HookFailure('the answer is larger than 16 MB')

/** Makes a call. Sends its answer to deciding hooks before the client gets it, and to other hooks after its end. */
export async function answeredCall({ gateway, checked, sink, hooks, consult }: Options): Promise<Outcome> {
  const { call } = checked
  const deciding = (isStream: boolean) => hooks.filter(hook => !isStream || hook.bufferStream)
  const tap = new AnswerTap({
    sink,
    modeOf: isStream => (deciding(isStream).length > 0 ? 'buffer' : 'copy'),
    mayPass: isStream => deciding(isStream).every(({ onError }) => onError === 'allow'),
    maxBytes: maxAnswerBytes,
  })
  const outcome = await gateway.call(call, tap)
  if (tap.isBuffered && call.signal.aborted) return { ...outcome, outcome: 'aborted' }

  const { answer, isStream } = tap
  const deciders = deciding(isStream)
  const watchers = hooks.filter(hook => !deciders.includes(hook))
  if (tap.isTooLong) {
    for (const hook of watchers) consult.notifyFailed(hook, call, tooLong)
    for (const hook of deciders) consult.failed(hook, call, tooLong)
  }
  if (!answer) return outcome
  const answered = { checked, answer, outcome: outcome.outcome }
  const sent = tap.isBuffered ? await decided(answered, deciders, consult) : answer
  if (!sent) return { ...outcome, outcome: 'aborted' }
  if (tap.isBuffered) sendAnswer(sent, sink)
  // Not awaited: the client has its answer, and these hooks only observe.
  void notify({ ...answered, answer: sent }, watchers, consult)
  return outcome
}

/** Applies hooks to an answer, one after the other. Undefined when the client has disconnected. */
async function decided({ checked, answer, outcome }: Answered, hooks: readonly Hook[], consult: Consult) {
  const { call } = checked
  let changed = answer
  for (const hook of hooks) {
    const body = () => answerBody(checked, changed, outcome)
    changed = (await consult.call(hook, call, { body, replace: given => withAnswerBody(changed, given) })) ?? changed
    if (call.signal.aborted) return undefined
  }
  return changed
}

async function notify({ checked, answer, outcome }: Answered, hooks: readonly Hook[], consult: Consult): Promise<void> {
  for (const hook of hooks) await consult.notify(hook, checked.call, () => answerBody(checked, answer, outcome))
}
