import { endedToolCall, isOfThread, type SessionEvent } from '../../contract/events.ts'
import type { Log } from '../platform/log.ts'
import { Recent } from '../platform/recent.ts'
import { createRowQueue } from '../platform/row-queue.ts'
import type { EndedToolCall, ToolCallStore } from './tool-call-store.ts'

interface Deps {
  readonly store: ToolCallStore
  readonly log: Pick<Log, 'warn'>
}

/** Beginning of a call. */
interface OpenCall {
  readonly tool: string
  /** Undefined when a person decides about the call: its time would be that of the person. */
  readonly startMs: number | undefined
}

/** Calls without a result yet, of all sessions of this process; the oldest are dropped, and looked up if they end. */
const maxOpen = 10_000
/** Results whose call is looked up in the log; more are not recorded. */
const maxLookups = 1_000
const maxNameLength = 200
/** Of an integer column; a client may answer a call after weeks. */
const maxMs = 2_147_483_647

/** Record of the tool calls of sessions, from the events of their logs. A session never waits for it. */
export type ToolCallLog = ReturnType<typeof createToolCallLog>

export function createToolCallLog({ store, log }: Deps) {
  const rows = createRowQueue<EndedToolCall>({ name: 'the record of tool calls', insert: store.insert, log })
  const open = new Recent<OpenCall>(maxOpen)
  let lookups = 0
  let looking = Promise.resolve()

  function begin(sessionId: string, event: SessionEvent): void {
    const call = openCallOf(event)
    if (call) open.set(placeOf(sessionId, call.id), call)
  }

  function end(sessionId: string, event: SessionEvent): void {
    const id = endedToolCall(event)
    if (id === undefined) return
    const call = open.take(placeOf(sessionId, id))
    if (call) rows.push(rowOf(sessionId, event, call))
    else lookUp(sessionId, event, id)
  }

  /** Finds a call that another process has stored. */
  function lookUp(sessionId: string, event: SessionEvent, id: string): void {
    if (lookups >= maxLookups) return
    lookups++
    looking = looking
      .then(async () => {
        const uses = await store.usesBefore(sessionId, event.seq)
        const call = uses.map(openCallOf).find(use => use?.id === id)
        if (call) rows.push(rowOf(sessionId, event, call))
      })
      .catch((cause: unknown) => log.warn({ err: cause, session_id: sessionId }, 'could not record a tool call'))
      .finally(() => {
        lookups--
      })
  }

  return {
    /** Records the calls among events that this process has stored. */
    note(sessionId: string, events: readonly SessionEvent[]): void {
      for (const event of events) {
        begin(sessionId, event)
        end(sessionId, event)
      }
    },
    start: rows.start,
    async stop(): Promise<void> {
      await looking
      await rows.stop()
    },
  }
}

const placeOf = (sessionId: string, id: string): string => `${sessionId} ${id}`

/** Returns the call that an event begins. A call of a called session is recorded there. */
function openCallOf(event: SessionEvent): (OpenCall & { readonly id: string }) | undefined {
  if (isOfThread(event)) return undefined
  switch (event.type) {
    case 'agent.tool_use':
    case 'agent.mcp_tool_use': {
      const server = event.type === 'agent.mcp_tool_use' ? event.mcp_server_name : undefined
      const tool = nameOf(server === undefined ? event.name : `${server}__${event.name}`)
      const startMs = event.evaluated_permission === 'ask' ? undefined : Date.parse(event.processed_at)
      return { id: event.tool_use_id, tool, startMs }
    }
    case 'agent.custom_tool_use':
      return { id: event.id, tool: nameOf(event.name), startMs: Date.parse(event.processed_at) }
    default:
      return undefined
  }
}

/** Returns a name that the database can hold. */
const nameOf = (name: string): string => name.slice(0, maxNameLength).replaceAll('\0', '').toWellFormed()

const rowOf = (session_id: string, event: SessionEvent, { tool, startMs }: OpenCall): EndedToolCall => ({
  id: event.id,
  created_at: event.processed_at,
  session_id,
  tool,
  is_error: event.is_error === true,
  ms: startMs === undefined ? null : Math.min(Math.max(0, Date.parse(event.processed_at) - startMs), maxMs),
})
