import { type Json, recordOf, recordsOf } from '../../platform/json.ts'
import { type Batch, type Decision, type RunContext, requiresAction } from '../runtime.ts'
import { cancelled } from './agent.ts'
import type { PeerRequest } from './json-rpc.ts'
import type { Normalizer } from './normalize.ts'
import type { CallPolicy } from './policy.ts'

interface Deps {
  readonly normalizer: Normalizer
  readonly context: Pick<RunContext, 'decision'>
  readonly policy: CallPolicy
  /** The name of the memory tool that a call is for, if it is. */
  readonly memoryTool: (call: Json) => string | undefined
}

/** What a program wants to be allowed, answered by the agent's rules or by a person. */
export type Questions = ReturnType<typeof createQuestions>

export function createQuestions({ normalizer, context, policy, memoryTool }: Deps) {
  /** Open ones, by the event of their call. */
  const open = new Map<string, PeerRequest>()
  const said: { readonly eventId: string; readonly decision: Decision | undefined }[] = []
  let broken: unknown
  let news = new AbortController()

  return {
    /** True while a person is asked. */
    get areOpen(): boolean {
      return open.size > 0
    },

    /** Aborts when something was said. */
    get news(): AbortSignal {
      if (news.signal.aborted) news = new AbortController()
      return news.signal
    },

    *ask(request: PeerRequest): Generator<Batch> {
      const toolCall = recordOf(request.params['toolCall'])
      const call = normalizer.fieldsOf(toolCall)
      const own = memoryTool(call)
      const rule = own === undefined ? policy.of(call['kind']) : policy.ofOwn(own)
      const { events, eventId } = normalizer.asked(toolCall, rule)
      if (rule !== 'ask') {
        request.answer(outcomeOf(request, rule))
        if (events.length > 0) yield events
        return
      }
      open.set(eventId, request)
      yield [...events, requiresAction([...open.keys()])]
      context
        .decision(eventId)
        .then(
          decision => void said.push({ eventId, decision }),
          (error: unknown) => {
            broken = error
          },
        )
        .finally(() => news.abort())
    },

    /** Hands on what was said meanwhile. Throws what a wait has ended with. */
    *answer(): Generator<Batch> {
      if (broken !== undefined) throw broken
      for (const { eventId, decision } of said.splice(0)) {
        const request = open.get(eventId)
        if (!request || !decision) continue
        open.delete(eventId)
        request.answer(outcomeOf(request, decision.result))
        if (open.size === 0) yield [{ type: 'session.status_running' }]
      }
    },

    /** Tells the program that nobody will answer any more. */
    withdraw(): void {
      for (const request of open.values()) request.answer(cancelled)
    },
  }
}

/** The option of a question that says the same. */
function outcomeOf({ params }: PeerRequest, result: 'allow' | 'deny') {
  const kinds = result === 'allow' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const options = recordsOf(params['options'])
  const option = kinds.map(kind => options.find(each => each['kind'] === kind)).find(each => each !== undefined)
  return option ? { outcome: { outcome: 'selected', optionId: option['optionId'] } } : cancelled
}
