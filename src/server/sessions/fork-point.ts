import { endsRun, isOfThread, type NewEvent, type SessionEvent } from '../../contract/events.ts'
import { idle } from '../runtimes/runtime.ts'

const notRun = [{ type: 'text', text: 'not run: the session was forked before this call ended' }] as const

const uses: ReadonlySet<string> = new Set(['agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use'])
const results: ReadonlySet<string> = new Set(['agent.tool_result', 'agent.mcp_tool_result', 'user.custom_tool_result'])

/** Tracks what a copied part of a log leaves open. Add its events in order. */
export class ForkPoint {
  /** Number of the model request that has no end yet. */
  #openStart: number | undefined
  /** Calls without a result, and whether they are of an MCP server. */
  readonly #openCalls = new Map<string, { readonly isMcp: boolean }>()
  /** Prompts that have not ended, with their run ids; null for a prompt that has not started. */
  readonly #openPrompts = new Map<string, string | null>()
  #running: { readonly prompt_id: string; readonly run_id: string } | undefined

  add(event: SessionEvent): void {
    if (isOfThread(event)) return
    const promptId = event.prompt_id ?? ''
    if (event.type === 'span.model_request_start') this.#openStart = event.seq
    else if (event.type === 'span.model_request_end') this.#openStart = undefined
    else if (uses.has(event.type))
      this.#openCalls.set(event.tool_use_id ?? event.id, { isMcp: event.type === 'agent.mcp_tool_use' })
    else if (results.has(event.type)) this.#openCalls.delete(event.tool_use_id ?? event.mcp_tool_use_id ?? '')
    else if (event.type === 'user.message') this.#openPrompts.set(promptId, null)
    else if (event.type === 'session.prompt_ended') this.#openPrompts.delete(promptId)
    else if (event.type === 'session.status_running' && event.run_id) this.#begin(promptId, event.run_id)
    else if (endsRun(event)) this.#end(event)
  }

  /** Number of the last event of the last complete step; undefined when the part ends with a complete step. */
  get stepBefore(): number | undefined {
    return this.#openStart === undefined ? undefined : this.#openStart - 1
  }

  /** Events that close what is open, so that the fork does not resume it. */
  closing(): NewEvent[] {
    const closed = [...this.#openCalls].map(([id, { isMcp }]): NewEvent => {
      const result = { content: notRun, is_error: true }
      return isMcp
        ? { type: 'agent.mcp_tool_result', mcp_tool_use_id: id, ...result }
        : { type: 'agent.tool_result', tool_use_id: id, ...result }
    })
    const running = this.#running
    const ends = [...this.#openPrompts].flatMap(([prompt_id, run_id]): NewEvent[] =>
      prompt_id === running?.prompt_id
        ? []
        : [{ type: 'session.prompt_ended', prompt_id, run_id, state: 'cancelled', reason: 'forked' }],
    )
    const details = { type: 'forked', message: 'the session was forked in the middle of this run' }
    const end = { ...idle({ type: 'end_turn' }, details), ...running }
    return [...closed, ...ends, ...(running ? [end] : [])]
  }

  #begin(prompt_id: string, run_id: string): void {
    this.#running = { prompt_id, run_id }
    this.#openPrompts.set(prompt_id, run_id)
  }

  #end(event: SessionEvent): void {
    // A budget stop leaves the prompt waiting; in a fork it has ended.
    this.#openPrompts.delete(event.prompt_id ?? this.#running?.prompt_id ?? '')
    this.#running = undefined
    this.#openCalls.clear()
  }
}
