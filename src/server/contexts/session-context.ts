import type { ContextCompaction, LastModelRequest, SessionContext } from '../../contract/contexts.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Caller } from '../http/caller.ts'
import type { Keys } from '../keys/keys.ts'
import type { LogReducer } from '../runtimes/runtime.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { NextPrompt } from '../sessions/next-prompt.ts'
import type { createPromptContext } from './prompt-context.ts'

/** Events of a log in pages. */
interface LogPages {
  readonly after: (sessionId: string, seq: number, limit: number) => Promise<LogPart>
  readonly firstRetained: (sessionId: string, limit: number) => Promise<LogPart>
}

interface LogPart {
  readonly events: readonly SessionEvent[]
  readonly bytes: number
}

interface Deps {
  /** Returns a session that the caller may see, while its log is readable. Throws `not_found`. */
  readonly subjectOf: (id: string, caller: Caller) => Promise<NextPrompt>
  /** Returns those of the agents that exist and belong to that owner. */
  readonly findAgents: (ids: readonly string[], owner: string | undefined) => Promise<StoredAgent[]>
  readonly keys: Pick<Keys, 'workerById'>
  readonly events: Pick<EventStore, 'list'>
  readonly history: LogPages
  readonly maxDepth: number
  readonly describe: ReturnType<typeof createPromptContext>
}

const maxCompactions = 50
const pageSize = 500
/** A longer log since the last compaction is not read: it would take as much memory as a run. */
const maxLogBytes = 32 * 1024 * 1024

/** Returns a function that describes the next model request of a session. It has no effect. */
export function createSessionContext({ subjectOf, findAgents, keys, events, history, maxDepth, describe }: Deps) {
  const newest = async (sessionId: string, types: readonly string[], limit: number) =>
    (await events.list({ sessionId, after: Number.MAX_SAFE_INTEGER, limit, order: 'desc', types })).data

  /** Reads the log since its last compaction, like a run does, without a cache. */
  async function foldOf<State>(sessionId: string, { begin, add }: LogReducer<State>, notes: string[]) {
    const state = begin()
    let last = 0
    let bytes = 0
    let page = await history.firstRetained(sessionId, pageSize)
    for (;;) {
      for (const event of page.events) add(state, event)
      last = page.events.at(-1)?.seq ?? last
      bytes += page.bytes
      if (page.events.length < pageSize) break
      if (bytes > maxLogBytes) {
        notes.push(`the conversation is counted up to event ${last}: the log is too long to be read as a whole`)
        break
      }
      page = await history.after(sessionId, last, pageSize)
    }
    return { state, last }
  }

  async function lastRequest(sessionId: string): Promise<LastModelRequest | null> {
    const found = await newest(sessionId, ['span.model_request_start', 'span.model_request_end'], 10)
    const start = found.find(isAnswerRequest)
    if (!start) return null
    const end = found.find(
      event => event.type === 'span.model_request_end' && event.model_request_start_id === start.id,
    )
    const usage = end?.type === 'span.model_request_end' ? end.model_usage : undefined
    const cached = usage?.cache_read_input_tokens ?? 0
    return {
      event_id: start.id,
      seq: start.seq,
      at: start.processed_at,
      model: start.model ?? '',
      input_tokens: usage ? (usage.input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0) + cached : null,
      cached_tokens: usage ? cached : null,
      output_tokens: usage?.output_tokens ?? null,
    }
  }

  return async (id: string, caller: Caller): Promise<SessionContext> => {
    const { session, runtime, agent, ancestors, prompt } = await subjectOf(id, caller)
    const notes: string[] = []
    const { key_id, principal } = prompt
    const payer = key_id === null ? { principal, key: undefined } : await keys.workerById(key_id)
    const [context, last_request, compacted] = await Promise.all([
      describe({
        session,
        runtime,
        sessionId: id,
        agentVersion: agent?.version ?? null,
        skills: agent?.agent.skills ?? [],
        prompt,
        payer: payer && { principal, key: payer.key },
        agents: ancestors.length < maxDepth ? ids => findAgents(ids, session.owner_id) : undefined,
        fold: reducer => foldOf(id, reducer, notes),
      }),
      lastRequest(id),
      newest(id, ['agent.thread_context_compacted'], maxCompactions),
    ])
    return {
      session_id: id,
      ...context,
      notes: [...context.notes, ...notes],
      last_request,
      compactions: compacted.flatMap(compactionOf),
    }
  }
}

type RequestStart = Extract<SessionEvent, { readonly type: 'span.model_request_start' }>

const isAnswerRequest = (event: SessionEvent): event is RequestStart =>
  event.type === 'span.model_request_start' && event.purpose === undefined

function compactionOf(event: SessionEvent): ContextCompaction[] {
  if (event.type !== 'agent.thread_context_compacted') return []
  const { id: event_id, seq, processed_at: at, reason = null, tokens_before = null, tokens_after = null } = event
  return [{ event_id, seq, at, reason, tokens_before, tokens_after }]
}
