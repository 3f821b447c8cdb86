import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, listOf, textIn } from '../../platform/json.ts'

/** A tool call of the log. */
export interface Call {
  /** Id of its event in our log. */
  readonly id: string
  /** What the result repeats. */
  readonly toolUseId: string
  /** Id of its event over there; undefined when it came without. */
  readonly sourceId: string | undefined
  readonly isMcp: boolean
}

/**
 * What the session's log holds of the events over there: which were taken over, under which ids, and which tool calls have
 * no result yet. It is fed with the log, and with each event that is about to join it.
 */
export class Book {
  readonly #idOf = new Map<string, string>()
  readonly #open = new Map<string, Call>()
  readonly #asked: Call[] = []
  #isRunning = true
  #lastSourceId: string | undefined

  /** True when the log says that work goes on. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Id over there of the last event that was taken over. */
  get lastSourceId(): string | undefined {
    return this.#lastSourceId
  }

  /** Tool calls without a result, in their order. */
  get open(): readonly Call[] {
    return [...this.#open.values()]
  }

  /** Tool calls that the log has asked a person about, while no work goes on. */
  get asked(): readonly Call[] {
    return this.#isRunning ? [] : this.#asked
  }

  add(event: NewEvent): void {
    const { id, type } = event
    const sourceId = textIn(event['source_event_id'])
    if (id !== undefined && sourceId !== undefined) {
      this.#idOf.set(sourceId, id)
      this.#lastSourceId = sourceId
    }
    if (type === 'agent.tool_use' || type === 'agent.mcp_tool_use') {
      const toolUseId = String(event['tool_use_id'])
      this.#open.set(toolUseId, { id: id ?? '', toolUseId, sourceId, isMcp: type === 'agent.mcp_tool_use' })
    } else if (type === 'agent.tool_result' || type === 'agent.mcp_tool_result') {
      this.#open.delete(String(event['tool_use_id'] ?? event['mcp_tool_use_id']))
    } else if (type === 'session.status_running') this.#isRunning = true
    else if (type === 'session.status_idle') this.#stop(event['stop_reason'])
    else if (type === 'session.status_rescheduled') this.#isRunning = false
  }

  /** Our id of an event over there; undefined when the log does not hold it. */
  idOf(sourceId: string): string | undefined {
    return this.#idOf.get(sourceId)
  }

  /** The open tool call that a result names, by the id of the call or of its event. */
  callOf(name: string | undefined): Call | undefined {
    if (name === undefined) return undefined
    return this.#open.get(name) ?? this.open.find(({ sourceId }) => sourceId === name)
  }

  #stop(reason: unknown): void {
    this.#isRunning = false
    const ids = isRecord(reason) && reason['type'] === 'requires_action' ? listOf(reason['event_ids']) : []
    this.#asked.splice(0, Infinity, ...this.open.filter(({ id }) => ids.includes(id)))
  }
}

/** The results of tool calls that got none, since the run was cut off or has ended. */
export const cutOffResults = (book: Book): NewEvent[] =>
  book.open.map(call =>
    resultOf(call, { content: [{ type: 'text', text: 'cut off: there is no result' }], is_error: true }),
  )

/** The result of a call, in the kind of that call. */
export const resultOf = ({ toolUseId, isMcp }: Call, fields: Readonly<Record<string, unknown>>): NewEvent =>
  isMcp
    ? { type: 'agent.mcp_tool_result', ...fields, mcp_tool_use_id: toolUseId }
    : { type: 'agent.tool_result', ...fields, tool_use_id: toolUseId }
