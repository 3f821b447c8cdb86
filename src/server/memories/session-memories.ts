import { type Memory, maxMemoryBytes } from '../../contract/memories.ts'
import type { Audit } from '../audit/audit.ts'
import type { Actor } from '../http/caller.ts'
import { invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { ToolMemories } from '../tools/tool.ts'
import { maxBlockBytes, memoryBlock, selectMemories } from './context.ts'
import { wordsQuery } from './fold.ts'
import { type MemoryContext, newContext, recordedContext } from './preview.ts'
import { publicFields } from './public-fields.ts'
import type { SessionMemoryStore } from './session-store.ts'
import type { MemoryStore } from './store.ts'

interface Deps {
  readonly store: Pick<MemoryStore, 'list' | 'countUse' | 'insert' | 'withText'>
  readonly sessionRows: SessionMemoryStore
  readonly audit: Audit
}

/** The agent and actor that save and search. */
interface ToolUser {
  readonly agentId: string
  /** Null for tools outside of a session. */
  readonly sessionId: string | null
  readonly actor: Actor
}

interface OfSession {
  readonly id: string
  readonly agent_id: string
}

/** Memories read for a session: four times the maximum it can get. */
const maxCandidates = 200

/** Memories that sessions get from their agent, and that they add. */
export type SessionMemories = ReturnType<typeof createSessionMemories>

export function createSessionMemories({ store, sessionRows, audit }: Deps) {
  const forNewSession = async (agentId: string): Promise<Memory[]> =>
    selectMemories(await sessionRows.candidates(agentId, { maxBytes: maxBlockBytes, limit: maxCandidates }))

  return {
    /** Returns the memories that a new session gets, in order. */
    forNewSession,

    /**
     * Returns the block for the session's context; empty without memories. Its memories are fixed at the first run, so
     * that prompt caches stay valid; only memories disabled or deleted since are removed, and changed texts are
     * updated. Our choice.
     */
    async block({ id, agent_id }: OfSession): Promise<string> {
      if (agent_id === '') return ''
      const injected = await sessionRows.injected({ id, agent_id })
      if (injected) return memoryBlock(selectMemories(injected))
      const first = await forNewSession(agent_id)
      const isNew = await sessionRows.recordInjected(
        id,
        first.map(memory => memory.id),
      )
      if (isNew) return memoryBlock(first)
      // Another process has recorded its selection first.
      return memoryBlock(selectMemories((await sessionRows.injected({ id, agent_id })) ?? []))
    },

    /**
     * Returns the memories of a session, or of a new one, and why each is in its context or not. Records nothing, so the
     * first run of the session still selects.
     */
    async explain(agentId: string, sessionId: string | undefined): Promise<MemoryContext> {
      if (agentId === '') return { block: '', memories: [] }
      const first = await store.list(agentId, { withDisabled: true }, { after: undefined, limit: maxCandidates })
      const all = first.map(({ memory }) => memory)
      const recorded = sessionId && (await sessionRows.injected({ id: sessionId, agent_id: agentId }))
      if (recorded) return recordedContext(selectMemories(recorded), all)
      return newContext(await forNewSession(agentId), all)
    },

    /** Returns the memories for tools of the agent. */
    toolMemories: ({ agentId, sessionId: session_id, actor }: ToolUser): ToolMemories => ({
      async save({ text, tags, type, priority }) {
        if (Buffer.byteLength(text) > maxMemoryBytes)
          throw invalid(`text must have at most ${maxMemoryBytes} bytes in UTF-8`)
        const source = 'agent' as const
        const memory = { id: newId('mem'), text, tags, type, priority, source, session_id, created_by: actor.principal }
        const of = { agentId, owner: undefined }
        const memories = [{ ...memory, disabled: false }]
        const [added] = await store.insert(of, { memories, onlyNew: true }, (sql, ownerId, [saved]) => {
          const after = saved && publicFields(saved)
          return audit.record(sql, { actor, action: 'memory.create', objectId: memory.id, ownerId, after })
        })
        if (added) return { memory: added, isNew: true }
        const existing = await store.withText(agentId, text)
        if (!existing) throw notFound('agent', agentId)
        return { memory: existing, isNew: false }
      },

      async search({ query, tag, limit }) {
        const filter = { q: query, words: wordsQuery(query), tag, withDisabled: false }
        const found = (await store.list(agentId, filter, { after: undefined, limit })).map(({ memory }) => memory)
        await store.countUse(found.map(({ id }) => id))
        return found
      },
    }),
  }
}
