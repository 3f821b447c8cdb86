import { awaitedApprovals, isOfThread, type SessionEvent } from '../../contract/events.ts'

/** A tool call in the log of a session. */
export interface ThreadCall {
  /** Id of its event, which is the id of the call for the front-end. */
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** True for a tool whose result a client sends. */
  readonly isClient: boolean
}

/** The tool calls of a session, read event by event: which are unanswered, and which ask a person or a client. */
export class ThreadCalls {
  readonly #byId = new Map<string, ThreadCall>()
  /** Ids of events by the runtime's ids of their calls. */
  readonly #ids = new Map<string, string>()
  readonly #pending = new Set<string>()

  /** The calls that wait for an answer from outside, in their order. */
  get questions(): readonly ThreadCall[] {
    return [...this.#pending].map(id => this.#byId.get(id) ?? { id, name: 'a tool', input: {}, isClient: false })
  }

  /** Returns the call with that id of the runtime. */
  ofRuntime(toolUseId: string): ThreadCall | undefined {
    return this.#byId.get(this.#ids.get(toolUseId) ?? '')
  }

  take(event: SessionEvent): void {
    switch (event.type) {
      case 'agent.tool_use':
      case 'agent.mcp_tool_use':
      case 'agent.custom_tool_use':
        this.#add(event)
        break
      case 'user.tool_confirmation':
        this.#pending.delete(event.tool_use_id)
        break
      case 'session.approval_expired':
        this.#pending.delete(event.tool_use_id)
        break
      case 'user.custom_tool_result':
        this.#pending.delete(event.custom_tool_use_id)
        break
      case 'agent.tool_result':
        if (!isOfThread(event)) this.#pending.delete(this.#ids.get(event.tool_use_id) ?? '')
        break
      case 'agent.mcp_tool_result':
        this.#pending.delete(this.#ids.get(event.mcp_tool_use_id) ?? '')
        break
      default:
        for (const id of awaitedApprovals(event)) this.#pending.add(id)
    }
  }

  /** Forgets the questions: they end with their run. */
  close(): void {
    this.#pending.clear()
  }

  #add(event: ToolUse): void {
    const name = callName(event)
    const isClient = event.type === 'agent.custom_tool_use'
    this.#byId.set(event.id, { id: event.id, name, input: event.input, isClient })
    if (event.tool_use_id !== undefined && !isOfThread(event)) this.#ids.set(event.tool_use_id, event.id)
  }
}

type ToolUse = Extract<
  SessionEvent,
  { readonly type: 'agent.tool_use' | 'agent.mcp_tool_use' | 'agent.custom_tool_use' }
>

/** Returns the name of a tool as the model knows it. */
export const callName = ({ name, mcp_server_name: server }: Pick<ToolUse, 'name' | 'mcp_server_name'>): string =>
  server === undefined ? name : `${server}__${name}`
