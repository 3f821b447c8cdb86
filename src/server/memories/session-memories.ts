import { type Memory, maxMemoryBytes } from '../../contract/memories.ts'
import type { Audit } from '../audit/audit.ts'
import type { Actor } from '../http/caller.ts'
import { invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { ToolMemories } from '../tools/tool.ts'
import { chosen, maxBlockBytes, memoryBlock } from './context.ts'
import { wordsQuery } from './fold.ts'
import { publicFields } from './public-fields.ts'
import type { SessionMemoryStore } from './session-store.ts'
import type { MemoryStore } from './store.ts'

interface Deps {
  readonly store: Pick<MemoryStore, 'list' | 'countUse' | 'insert' | 'withText'>
  readonly given: SessionMemoryStore
  readonly audit: Audit
}

/** Who saves and searches. */
interface Lender {
  readonly agentId: string
  /** Null for tools that work outside of our sessions. */
  readonly sessionId: string | null
  readonly actor: Actor
}

interface OfSession {
  readonly id: string
  readonly agent_id: string
}

/** Looked at for a session: four times what it can hold. */
const candidates = 200

/** What sessions get of their agent's memories, and what they add. */
export type SessionMemories = ReturnType<typeof createSessionMemories>

export function createSessionMemories({ store, given, audit }: Deps) {
  const forNewSession = async (agentId: string): Promise<Memory[]> =>
    chosen(await given.candidates(agentId, { maxBytes: maxBlockBytes, limit: candidates }))

  return {
    /** What a session that starts now gets, in this order. */
    forNewSession,

    /**
     * The block for the session's context; empty without memories. What it holds is settled at the first run and stays, so
     * that prompt caches hold; only what was disabled or deleted since then leaves it, and changed texts are told anew.
     * Our choice.
     */
    async block({ id, agent_id }: OfSession): Promise<string> {
      if (agent_id === '') return ''
      const known = await given.given({ id, agent_id })
      if (known) return memoryBlock(chosen(known))
      const first = await forNewSession(agent_id)
      const isNew = await given.give(
        id,
        first.map(memory => memory.id),
      )
      if (isNew) return memoryBlock(first)
      // Another process may have noted something else before.
      return memoryBlock(chosen((await given.given({ id, agent_id })) ?? []))
    },

    /** What tools of the agent can do. */
    lend: ({ agentId, sessionId: session_id, actor }: Lender): ToolMemories => ({
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
        const known = await store.withText(agentId, text)
        if (!known) throw notFound('agent', agentId)
        return { memory: known, isNew: false }
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
