import type { NewEvent, NewEventOf } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { failed, idle } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { answerEvents, modelUsage, rejectedCalls } from './answer-events.ts'
import { compactAfterRejection } from './context/compaction.ts'
import { contentsFor } from './context/prompt-files.ts'
import { makeRoom } from './context/room.ts'
import {
  paidCall,
  type Requested,
  type RequestOutcome,
  requestEnd,
  requestWithRetries,
  usageEvent,
} from './model-tries.ts'
import { evaluationOf, outcomeField } from './outcome/evaluation.ts'
import { bodyOf } from './request.ts'
import { resultOf, schemaOf } from './result.ts'
import { repairRequested, resultFailure } from './result-events.ts'
import type { Events, Run } from './run.ts'

/**
 * Runs one step of the model. An answer is stored as a whole, and the last one together with the end of the run, so
 * that a crash does not repeat its request. A request that the model rejects as too long is repeated once, after a
 * compaction. Returns false when the run has ended.
 */
export async function* requestModel(run: Run): AsyncGenerator<Events, boolean> {
  for (let wasTooLong = false; ; wasTooLong = true) {
    const outcome = yield* requestWithRetries(run, startId => request(run, startId))
    if (!outcome) return false
    if ('answer' in outcome) {
      const { batch, continues } = await answered(run, outcome)
      yield batch
      return continues
    }
    if (wasTooLong || run.conversation.transcript.isAsCompacted) {
      yield [
        failed('compaction_limit_reached_error', `${outcome.tooLong.message}; the conversation is already compacted`),
      ]
      return false
    }
    if (!(yield* compactAfterRejection(run, outcome.prompt))) return false
  }
}

/**
 * Logs the start of the request and makes it. Returns undefined when the run has ended or must be handed over first.
 */
async function* request(run: Run, startId: string): AsyncGenerator<Events, Requested | undefined> {
  const { context } = run
  const prompts = await context.prompts()
  run.schema = schemaOf(run.session, prompts)
  const joined = prompts.filter(({ id }) => !run.conversation.includes(id))
  const prompt = joined.at(-1) ?? run.prompt
  const room = yield* makeRoom(run, { prompt, joined })
  if (!room) return undefined
  // A prompt that joined during the run is not in the history that was read at its start.
  for (const { id, parts } of joined) run.conversation.add({ type: 'user.message', prompt_id: id, content: parts })
  const start = { id: startId, type: 'span.model_request_start', model: prompt.model } as const
  yield [{ ...start, prompt_ids: joined.map(({ id }) => id), ...room }]

  const ids = new Map<number, string>()
  const onText = (index: number, text: string) => {
    const id = ids.get(index) ?? newId('evt')
    ids.set(index, id)
    context.preview(id, text)
  }
  const { messages } = run.conversation.transcript
  const inputs = run.deps.modelInputs(prompt.model)
  run.files = await contentsFor(messages, inputs, { known: run.files, read: context.fileContent })
  const body = bodyOf(run, prompt, messages)
  return { result: await paidCall(run, { prompt, body, onText }), prompt, ids, body }
}

/** Returns the events of an answer, including the end of the run when the model calls no tool. */
async function answered(
  run: Run,
  { answer, ids, startId }: Extract<RequestOutcome, { answer: Answer }>,
): Promise<{ batch: Events; continues: boolean }> {
  const usage = modelUsage(answer)
  const rejected = await rejectedCalls(answer, run.tools)
  const events = [
    ...answerEvents(answer, ids, { tools: run.tools, rejected }),
    requestEnd(startId, { model_usage: usage }),
  ]
  if (answer.stopReason === 'pause_turn' || events.some(isToolUse)) {
    return { batch: events, continues: true }
  }
  const result = await resultOf(run, answer)
  if (!result || 'value' in result) {
    // Stored with the answer, so that a crash repeats the evaluation alone.
    const evaluation = answer.stopReason === 'refusal' ? undefined : evaluationOf(run)
    if (evaluation) return { batch: [...events, evaluation], continues: true }
    const end = { ...endOf(answer), ...(result && { result: result.value }), ...outcomeField(run) }
    return { batch: [...events, usageEvent(run, usage), end], continues: false }
  }
  if (!run.conversation.isRepairing) return { batch: [...events, repairRequested(result.problem)], continues: true }
  return { batch: [...events, usageEvent(run, usage), resultFailure(result.problem)], continues: false }
}

const isToolUse = ({ type }: NewEvent): boolean =>
  type === 'agent.tool_use' || type === 'agent.mcp_tool_use' || type === 'agent.custom_tool_use'

function endOf({ stopReason }: Answer): NewEventOf<'session.status_idle'> {
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const isCut = stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded'
  return idle(
    { type: 'end_turn' },
    isCut ? { type: stopReason, message: 'the answer was truncated at its limit' } : null,
  )
}
