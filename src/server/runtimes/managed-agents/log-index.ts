import { awaitedApprovals, type NewEvent } from '../../../contract/events.ts'

/** A tool call of the log. */
export interface Call {
  /** Id of its event in our log. */
  readonly id: string
  /** Tool use id that the result refers to. */
  readonly toolUseId: string
  /** Id of its event at the provider; undefined when it had none. */
  readonly sourceId: string | undefined
  readonly isMcp: boolean
}

/**
 * Index of the session's log: which provider events it has, under which ids, and which tool calls have no result yet.
 * Add the events of the log, and each new event before it is stored.
 */
export class LogIndex {
  readonly #idOf = new Map<string, string>()
  readonly #open = new Map<string, Call>()
  readonly #asked: Call[] = []
  #isRunning = true
  #lastSourceId: string | undefined

  /** True while the log shows the run as running. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Provider id of the last event in the log. */
  get lastSourceId(): string | undefined {
    return this.#lastSourceId
  }

  /** Tool calls without a result, in their order. */
  get open(): readonly Call[] {
    return [...this.#open.values()]
  }

  /** Tool calls that wait for a person; empty while the run is running. */
  get awaitingApproval(): readonly Call[] {
    return this.#isRunning ? [] : this.#asked
  }

  add(event: NewEvent): void {
    const { id } = event
    const sourceId = event.source_event_id
    if (id !== undefined && sourceId !== undefined) {
      this.#idOf.set(sourceId, id)
      this.#lastSourceId = sourceId
    }
    if (event.type === 'agent.tool_use' || event.type === 'agent.mcp_tool_use') {
      const toolUseId = event.tool_use_id
      this.#open.set(toolUseId, { id: id ?? '', toolUseId, sourceId, isMcp: event.type === 'agent.mcp_tool_use' })
    } else if (event.type === 'agent.tool_result' || event.type === 'agent.mcp_tool_result') {
      this.#open.delete(event.tool_use_id ?? event.mcp_tool_use_id ?? '')
    } else if (event.type === 'session.status_running') this.#isRunning = true
    else if (event.type === 'session.status_idle') this.#stop(awaitedApprovals(event))
    else if (event.type === 'session.status_rescheduled') this.#isRunning = false
  }

  /** Returns our id of a provider event; undefined when it is not in the log. */
  idOf(sourceId: string): string | undefined {
    return this.#idOf.get(sourceId)
  }

  /** Returns the open tool call of a result, by the id of the call or of its event. */
  callOf(name: string | undefined): Call | undefined {
    if (name === undefined) return undefined
    return this.#open.get(name) ?? this.open.find(({ sourceId }) => sourceId === name)
  }

  #stop(ids: readonly string[]): void {
    this.#isRunning = false
    this.#asked.splice(0, Infinity, ...this.open.filter(({ id }) => ids.includes(id)))
  }
}

/** Returns results for the tool calls without one, for a run that was interrupted or has ended. */
export const interruptedResults = (logIndex: LogIndex): NewEvent[] =>
  logIndex.open.map(call =>
    resultOf(call, { content: [{ type: 'text', text: 'interrupted: the call has no result' }], is_error: true }),
  )

/** Returns the result event for a call, of the type for that call. */
export const resultOf = ({ toolUseId, isMcp }: Call, fields: Readonly<Record<string, unknown>>): NewEvent =>
  isMcp
    ? { type: 'agent.mcp_tool_result', ...fields, mcp_tool_use_id: toolUseId }
    : { type: 'agent.tool_result', ...fields, tool_use_id: toolUseId }
