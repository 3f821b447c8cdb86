import {
  type Memory,
  type MemoryChange,
  type MemoryPreview,
  type MemoryQuery,
  type MemoryWrite,
  maxMemoryBytes,
  type PortableMemory,
} from '../../contract/memories.ts'
import type { Audit } from '../audit/audit.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import { type Page, pageOf } from '../http/page.ts'
import { invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { ToolMemories } from '../tools/tool.ts'
import { wordsQuery } from './fold.ts'
import { previewOf } from './preview.ts'
import { publicFields } from './public-fields.ts'
import type { SessionMemories } from './session-memories.ts'
import type { Listed, MemoryStore, NewMemory, OfAgent, OnChange } from './store.ts'

interface Deps {
  readonly store: MemoryStore
  readonly sessionMemories: Pick<SessionMemories, 'forNewSession' | 'toolMemories'>
  readonly audit: Audit
}

const previewed = 200

/** Rules of memories: who may change which, what a search finds and counts, and which writes are rejected. */
export type Memories = ReturnType<typeof createMemories>

export function createMemories({ store, sessionMemories, audit }: Deps) {
  const recorded =
    (action: string, actor: Actor): OnChange =>
    (sql, ownerId, before, after) => {
      const objectId = after?.id ?? before?.id ?? ''
      const fields = { before: before && publicFields(before), after: after && publicFields(after) }
      return audit.record(sql, { actor, action: `memory.${action}`, objectId, ownerId, ...fields })
    }

  async function checkAgent(of: OfAgent): Promise<void> {
    if (!(await store.hasAgent(of))) throw notFound('agent', of.agentId)
  }

  return {
    /** Interface: Memories, rules 1 to 5. Gaps: section 8. */
    async list(agentId: string, query: MemoryQuery, caller: Caller): Promise<Page<Memory>> {
      await checkAgent({ agentId, owner: caller.ownerScope })
      const { q, tag, type, source, disabled, track = true } = query
      const wanted = { q: unlessBlank(q), tag: unlessBlank(tag) }
      const words = query.match === 'words' && wanted.q !== undefined ? wordsQuery(wanted.q) : undefined
      if (words !== undefined && query.cursor !== undefined)
        throw invalid('cursor is not supported with match=words, which returns one page')
      const isPlain = wanted.q === undefined && wanted.tag === undefined
      const withDisabled = disabled ?? query.include_disabled ?? isPlain
      const filter = { ...wanted, type, source, disabled, words, withDisabled }
      const page = await pageOf(query, each => store.list(agentId, filter, each), placeIn)
      const found = page.items.map(({ memory }) => memory)
      const next_cursor = words === undefined ? page.next_cursor : null
      // A viewer changes nothing, not even a counter.
      if (wanted.q === undefined || !track || caller.role === 'viewer') return { items: found, next_cursor }
      const counted = new Map((await store.countUse(found.map(({ id }) => id))).map(memory => [memory.id, memory]))
      return { items: found.map(memory => counted.get(memory.id) ?? memory), next_cursor }
    },

    async get(agentId: string, id: string, caller: Caller): Promise<Memory> {
      const of = { agentId, owner: caller.ownerScope }
      const found = await store.find({ ...of, id })
      if (found) return found
      await checkAgent(of)
      throw notFound('memory', id)
    },

    async create(agentId: string, write: MemoryWrite, { caller, actor }: By): Promise<Memory> {
      checkText(write.text, 'text')
      const memories = [newMemory({ ...write, disabled: false }, caller.principal)]
      const of = { agentId, owner: caller.ownerScope }
      const onAdded = recorded('create', actor)
      const [added] = await store.insert(of, { memories }, (sql, owner, [memory]) =>
        onAdded(sql, owner, undefined, memory),
      )
      if (!added) throw notFound('agent', agentId)
      return added
    },

    async update(agentId: string, id: string, change: MemoryChange, { caller, actor }: By): Promise<Memory> {
      if (change.text !== undefined) checkText(change.text, 'text')
      const of = { agentId, owner: caller.ownerScope }
      const changed = await store.update({ ...of, id }, memory => ({ ...memory, ...change }), recorded('update', actor))
      if (changed) return changed
      await checkAgent(of)
      throw notFound('memory', id)
    },

    async remove(agentId: string, id: string, { caller, actor }: By): Promise<void> {
      const of = { agentId, owner: caller.ownerScope }
      if (await store.remove({ ...of, id }, recorded('delete', actor))) return
      await checkAgent(of)
      throw notFound('memory', id)
    },

    /** Returns which of the first 200 memories a new session would get, and why. */
    async preview(agentId: string, caller: Caller): Promise<MemoryPreview> {
      await checkAgent({ agentId, owner: caller.ownerScope })
      const first = await store.list(agentId, { withDisabled: true }, { after: undefined, limit: previewed })
      return previewOf(
        await sessionMemories.forNewSession(agentId),
        first.map(({ memory }) => memory),
      )
    },

    /**
     * Returns the memories for the agent's tools, for this caller. A program of a session reaches only the session's
     * agent.
     */
    async toolMemories(agentId: string, { caller, actor }: By): Promise<ToolMemories> {
      const run = caller.behalf?.run
      if (run && run.agent_id !== agentId) throw notFound('agent', agentId)
      await checkAgent({ agentId, owner: caller.ownerScope })
      if (!run) return sessionMemories.toolMemories({ agentId, sessionId: null, actor })
      // As in the built-in runtime, the agent saves on behalf of the caller that queued the prompt.
      const agent: Actor = { ...actor, role: 'agent', address: undefined, requestId: undefined }
      return sessionMemories.toolMemories({ agentId, sessionId: run.session_id, actor: agent })
    },

    /** Exports memories, including disabled ones; a page can be imported unchanged. */
    async export(
      agentId: string,
      query: { readonly limit?: number; readonly cursor?: string },
      caller: Caller,
    ): Promise<Page<Required<PortableMemory>>> {
      await checkAgent({ agentId, owner: caller.ownerScope })
      const load = (page: { after: string | undefined; limit: number }) =>
        store.list(agentId, { withDisabled: true }, page)
      const { items, next_cursor } = await pageOf(query, load, placeIn)
      return { items: items.map(({ memory }) => portable(memory)), next_cursor }
    },

    /** Imports all memories or none. Texts that the agent has already, and repeated texts, are skipped. */
    async import(
      agentId: string,
      given: readonly PortableMemory[],
      { caller, actor }: By,
    ): Promise<{ imported: number; skipped: number }> {
      for (const [at, { text }] of given.entries()) checkText(text, `memories[${at}].text`)
      const of = { agentId, owner: caller.ownerScope }
      await checkAgent(of)
      const unique = [...new Map(given.toReversed().map(memory => [memory.text, memory])).values()]
      // Last one first, because lists are newest first: so the order of the export is restored.
      const memories = unique.map(memory => newMemory(memory, caller.principal))
      const added = await store.insert(of, { memories, onlyNew: true }, (sql, ownerId, { length }) =>
        audit.record(sql, { actor, action: 'memory.import', objectId: agentId, ownerId, after: { memories: length } }),
      )
      return { imported: added.length, skipped: given.length - added.length }
    },
  }
}

const placeIn = ({ place }: Listed): string => place

const unlessBlank = (text: string | undefined): string | undefined => (text?.trim() ? text : undefined)

function checkText(text: string, field: string): void {
  if (Buffer.byteLength(text) > maxMemoryBytes) {
    throw invalid(`${field} must have at most ${maxMemoryBytes} bytes in UTF-8`)
  }
}

const newMemory = (write: PortableMemory, createdBy: string): NewMemory => ({
  id: newId('mem'),
  text: write.text,
  tags: write.tags ?? [],
  type: write.type ?? 'fact',
  priority: write.priority ?? 0,
  disabled: write.disabled ?? false,
  source: write.source ?? 'ui',
  session_id: null,
  created_by: createdBy,
})

const portable = ({ text, tags, type, priority, disabled, source }: Memory): Required<PortableMemory> => ({
  text,
  tags,
  type,
  priority,
  disabled,
  source,
})
