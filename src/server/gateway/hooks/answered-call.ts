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
  /** The hooks that the answer is for. */
  readonly asked: readonly Hook[]
  readonly consult: Consult
}

/** An answer that hooks are asked about. */
interface Answered {
  readonly checked: CheckedCall
  readonly answer: Answer
  readonly outcome: Outcome['outcome']
}

/** The longest answer that is kept for hooks. */
const maxAnswerBytes = 16 * 1024 * 1024
const tooLong = new HookFailure('the answer is longer than 16 MB')

/** Makes a call and asks hooks about its answer: before it is sent where they decide about it, else after its end. */
export async function answeredCall({ gateway, checked, sink, asked, consult }: Options): Promise<Outcome> {
  const { call } = checked
  const deciding = (isStream: boolean) => asked.filter(hook => !isStream || hook.bufferStream)
  const tap = new AnswerTap({
    sink,
    wayOf: isStream => (deciding(isStream).length > 0 ? 'hold' : 'copy'),
    mayPass: isStream => deciding(isStream).every(({ onError }) => onError === 'allow'),
    maxBytes: maxAnswerBytes,
  })
  const outcome = await gateway.call(call, tap)
  if (tap.isHeld && call.signal.aborted) return { ...outcome, outcome: 'aborted' }

  const { answer, isStream } = tap
  const deciders = deciding(isStream)
  const watchers = asked.filter(hook => !deciders.includes(hook))
  if (tap.isTooLong) {
    for (const hook of watchers) consult.untold(hook, call, tooLong)
    for (const hook of deciders) consult.failed(hook, call, tooLong)
  }
  if (!answer) return outcome
  const answered = { checked, answer, outcome: outcome.outcome }
  const sent = tap.isHeld ? await decided(answered, deciders, consult) : answer
  if (!sent) return { ...outcome, outcome: 'aborted' }
  if (tap.isHeld) sendAnswer(sent, sink)
  // The caller has its answer: it does not wait for hooks that only watch.
  void told({ ...answered, answer: sent }, watchers, consult)
  return outcome
}

/** An answer as hooks leave it, each after the one before; undefined when the caller has left. */
async function decided({ checked, answer, outcome }: Answered, hooks: readonly Hook[], consult: Consult) {
  const { call } = checked
  let changed = answer
  for (const hook of hooks) {
    const body = () => answerBody(checked, changed, outcome)
    changed = (await consult.ask(hook, call, { body, replace: given => withAnswerBody(changed, given) })) ?? changed
    if (call.signal.aborted) return undefined
  }
  return changed
}

async function told({ checked, answer, outcome }: Answered, hooks: readonly Hook[], consult: Consult): Promise<void> {
  for (const hook of hooks) await consult.tell(hook, checked.call, () => answerBody(checked, answer, outcome))
}
