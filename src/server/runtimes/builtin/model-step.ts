import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { failed, idle } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { answerEvents, modelUsage } from './answer-events.ts'
import { compactAfterRefusal } from './context/compaction.ts'
import { makeRoom } from './context/room.ts'
import { type Asked, paidCall, type Requested, requestEnd, untilAnswered, usageEvent } from './model-tries.ts'
import { bodyOf } from './request.ts'
import { resultOf, schemaOf } from './result.ts'
import { askedAgain, withoutResult } from './result-events.ts'
import type { Events, Run } from './run.ts'

/**
 * One step of the model: its answer is stored as a whole, and the last one together with the end of the run, so that no crash
 * in between has it asked for again. A request that the model refuses as too long is made once more, after the conversation was
 * compacted. False when the run has ended.
 */
export async function* askModel(run: Run): AsyncGenerator<Events, boolean> {
  for (let wasRefused = false; ; wasRefused = true) {
    const asked = yield* untilAnswered(run, startId => request(run, startId))
    if (!asked) return false
    if ('answer' in asked) {
      const { batch, goesOn } = await answered(run, asked)
      yield batch
      return goesOn
    }
    if (wasRefused || run.conversation.said.isAsCompacted) {
      yield [
        failed('compaction_limit_reached_error', `${asked.tooLong.message}; the conversation was compacted already`),
      ]
      return false
    }
    if (!(yield* compactAfterRefusal(run, asked.prompt))) return false
  }
}

/** Announces the request and makes it. Undefined when the run has ended, or has to be handed over, before. */
async function* request(run: Run, startId: string): AsyncGenerator<Events, Requested | undefined> {
  const { context } = run
  const prompts = await context.prompts()
  run.schema = schemaOf(run.session, prompts)
  const joined = prompts.filter(({ id }) => !run.conversation.includes(id))
  const prompt = joined.at(-1) ?? run.prompt
  const room = yield* makeRoom(run, { prompt, joined })
  if (!room) return undefined
  // One that joined in mid-run came after the history was read.
  for (const { id, parts } of joined) run.conversation.add({ type: 'user.message', prompt_id: id, content: parts })
  const start = { id: startId, type: 'span.model_request_start', model: prompt.model }
  yield [{ ...start, prompt_ids: joined.map(({ id }) => id), ...room }]

  const ids = new Map<number, string>()
  const onText = (index: number, text: string) => {
    const id = ids.get(index) ?? newId('evt')
    ids.set(index, id)
    context.preview(id, text)
  }
  const body = bodyOf(run, prompt, run.conversation.said.messages)
  return { result: await paidCall(run, { prompt, body, onText }), prompt, ids, body }
}

/** What an answer adds to the log, up to the end of the run when the model waits for nothing more. */
async function answered(
  run: Run,
  { answer, ids, startId }: Extract<Asked, { answer: Answer }>,
): Promise<{ batch: Events; goesOn: boolean }> {
  const usage = modelUsage(answer)
  const events = [...answerEvents(answer, ids, run.tools), requestEnd(startId, { model_usage: usage })]
  if (answer.stopReason === 'pause_turn' || events.some(({ type }) => type === 'agent.tool_use')) {
    return { batch: events, goesOn: true }
  }
  const result = await resultOf(run, answer)
  if (!result || 'value' in result) {
    return {
      batch: [...events, usageEvent(run, usage), { ...endOf(answer), ...(result && { result: result.value }) }],
      goesOn: false,
    }
  }
  if (!run.conversation.isAskedAgain) return { batch: [...events, askedAgain(result.problem)], goesOn: true }
  return { batch: [...events, usageEvent(run, usage), withoutResult(result.problem)], goesOn: false }
}

function endOf({ stopReason }: Answer): NewEvent {
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const isCut = stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded'
  return idle({ type: 'end_turn' }, isCut ? { type: stopReason, message: 'the answer was cut off at its limit' } : null)
}
