import { type Json, recordOf, recordsOf } from '../../platform/json.ts'
import type { McpPlace } from '../../tools/tool-source.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'
import type { ProgramMcp } from '../local/program-mcp.ts'
import { type Batch, type Decision, type RunContext, requiresAction } from '../runtime.ts'
import { cancelled } from './agent.ts'
import type { PeerRequest } from './json-rpc.ts'
import type { Normalizer } from './normalize.ts'
import type { CallPolicy } from './policy.ts'

interface Deps {
  readonly normalizer: Normalizer
  readonly context: Pick<RunContext, 'decision'>
  readonly policy: CallPolicy
  /** Returns true once a call has the name of its tool. */
  readonly isNamed: (call: Json) => boolean
  /** Returns the memory tool of a call; undefined for other calls. */
  readonly memoryTool: (call: Json) => string | undefined
  /** Returns the tool of an MCP server that a call is for; undefined for other calls. */
  readonly mcpTool: (call: Json) => McpPlace | undefined
  readonly mcp: Pick<ProgramMcp, 'policyOf' | 'approve'>
}

/** How long a permission request waits for the announcement of its call. */
const namingMs = 5_000

/** Permission requests of a program, answered by the agent's policies or by a person. */
export type Questions = ReturnType<typeof createQuestions>

export function createQuestions({ normalizer, context, policy, isNamed, memoryTool, mcpTool, mcp }: Deps) {
  /** Open requests by the event id of their call. */
  const open = new Map<string, { readonly request: PeerRequest; readonly place: McpPlace | undefined }>()
  /** Requests that came before the announcement of their call. */
  const early: { readonly request: PeerRequest; readonly untilMs: number }[] = []
  const decisions: { readonly eventId: string; readonly decision: Decision | undefined }[] = []
  let failure: unknown
  let decided = new AbortController()

  /** A tool that is not granted is denied. */
  const ruleOf = (call: Json, place: McpPlace | undefined): ToolPolicy => {
    if (place) return mcp.policyOf(place) ?? 'deny'
    const own = memoryTool(call)
    return own === undefined ? policy.of(call['kind']) : policy.ofOwn(own)
  }

  function* decide(request: PeerRequest): Generator<Batch> {
    const toolCall = recordOf(request.params['toolCall'])
    const call = normalizer.fieldsOf(toolCall)
    const place = mcpTool(call)
    const rule = ruleOf(call, place)
    const { events, eventId } = normalizer.emitRequested(toolCall, rule)
    if (rule !== 'ask') {
      request.answer(outcomeOf(request, rule))
      if (events.length > 0) yield events
      return
    }
    open.set(eventId, { request, place })
    yield [...events, requiresAction([...open.keys()])]
    context
      .decision(eventId)
      .then(
        decision => void decisions.push({ eventId, decision }),
        (error: unknown) => {
          failure = error
        },
      )
      .finally(() => decided.abort())
  }

  return {
    /** True while a person is asked. */
    get areOpen(): boolean {
      return open.size > 0
    },

    /** Aborts when a decision arrives. */
    get decided(): AbortSignal {
      if (decided.signal.aborted) decided = new AbortController()
      return decided.signal
    },

    /** True while the tool of a requested call is not known. */
    get areEarly(): boolean {
      return early.length > 0
    },

    *requestApproval(request: PeerRequest): Generator<Batch> {
      if (isNamed(normalizer.fieldsOf(recordOf(request.params['toolCall'])))) yield* decide(request)
      else early.push({ request, untilMs: performance.now() + namingMs })
    },

    /** Decides about early requests whose calls were announced, or that have waited long enough. */
    *requestNamed(): Generator<Batch> {
      for (const each of early.splice(0)) {
        const call = normalizer.fieldsOf(recordOf(each.request.params['toolCall']))
        if (isNamed(call) || performance.now() >= each.untilMs) yield* decide(each.request)
        else early.push(each)
      }
    },

    /** Sends the decisions that arrived. Throws if waiting for one failed. */
    *answer(): Generator<Batch> {
      if (failure !== undefined) throw failure
      for (const { eventId, decision } of decisions.splice(0)) {
        const asked = open.get(eventId)
        if (!asked || !decision) continue
        open.delete(eventId)
        const { request, place } = asked
        if (place && decision.result === 'allow') mcp.approve(place)
        request.answer(outcomeOf(request, decision.result))
        if (open.size === 0) yield [{ type: 'session.status_running' }]
      }
    },

    /** Cancels the open requests. */
    withdraw(): void {
      for (const { request } of [...open.values(), ...early]) request.answer(cancelled)
    },
  }
}

/** Returns the option of a permission request that matches the decision. */
function outcomeOf({ params }: PeerRequest, result: 'allow' | 'deny') {
  const kinds = result === 'allow' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const options = recordsOf(params['options'])
  const option = kinds.map(kind => options.find(each => each['kind'] === kind)).find(each => each !== undefined)
  return option ? { outcome: { outcome: 'selected', optionId: option['optionId'] } } : cancelled
}
