import { awaitedApprovals, budgetReached, endsRun, type SessionEvent } from '../../contract/events.ts'

/** Returns the violations of the event grammar in a log; empty for a valid log. */
export function faultsOf(log: readonly SessionEvent[]): string[] {
  const checker = new LogChecker()
  for (const [at, event] of log.entries()) checker.check(event, at)
  return checker.faults
}

interface Run {
  readonly promptId: string | undefined
  readonly runId: string | null | undefined
}

const uses: ReadonlySet<string> = new Set(['agent.tool_use', 'agent.mcp_tool_use', 'agent.custom_tool_use'])
const results: ReadonlySet<string> = new Set(['agent.tool_result', 'agent.mcp_tool_result', 'user.custom_tool_result'])
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

class LogChecker {
  readonly faults: string[] = []
  readonly #ids = new Set<string>()
  /** Tool calls of the current run; later runs may reuse ids. */
  readonly #uses = new Map<unknown, { results: number }>()
  readonly #ended = new Set<unknown>()
  #run: Run | undefined
  /** A result without a call: the last message of a coding runtime. Interface: Events. */
  #closing: SessionEvent | undefined

  check(event: SessionEvent, at: number): void {
    this.#checkFrame(event, at)
    if (this.#closing && !endsRun(event)) this.#fault(this.#closing, 'is the result of a call that does not exist')
    this.#closing = undefined
    this.#checkTools(event)
    if (event.type === 'session.status_running') this.#begin(event)
    else if (event.type.startsWith('agent.') && !this.#run) this.#fault(event, 'comes while no run is in progress')
    if (endsRun(event)) this.#end(event)
    this.#ids.add(event.id)
  }

  #fault({ seq, type }: SessionEvent, text: string): void {
    this.faults.push(`event ${seq} (${type}) ${text}`)
  }

  #checkFrame(event: SessionEvent, at: number): void {
    if (event.seq !== at + 1) this.#fault(event, `is at position ${at + 1}`)
    if (this.#ids.has(event.id)) this.#fault(event, `repeats the id ${event.id}`)
    if (!isoTime.test(event.processed_at)) this.#fault(event, `has an invalid processed_at: ${event.processed_at}`)
    for (const id of awaitedApprovals(event))
      if (!this.#ids.has(id)) this.#fault(event, `refers to ${id}, which is not in the log`)
  }

  #checkTools(event: SessionEvent): void {
    const callId = event.tool_use_id ?? event.mcp_tool_use_id
    // A runtime that passes on the events of its provider has no id for calls that clients of the provider answer.
    if (callId === undefined) return
    if (uses.has(event.type)) {
      if (this.#uses.has(callId)) this.#fault(event, `repeats the call ${callId}`)
      this.#uses.set(callId, { results: 0 })
    } else if (results.has(event.type)) {
      const use = this.#uses.get(callId)
      if (!use) this.#closing = event
      else if (++use.results > 1) this.#fault(event, `is a second result of ${callId}`)
    }
  }

  #begin(event: SessionEvent): void {
    const { prompt_id: promptId, run_id: runId } = event
    // A run that continues after an approval does not name its prompt.
    if (this.#run && (promptId === undefined || promptId === this.#run.promptId)) return
    if (this.#run) this.#fault(event, 'starts before the current run has ended')
    if (promptId === undefined || runId === undefined) this.#fault(event, 'has no prompt_id and run_id')
    if (this.#ended.has(promptId)) this.#fault(event, `runs prompt ${promptId} again`)
    this.#run = { promptId, runId }
  }

  #end(event: SessionEvent): void {
    const run = this.#run
    this.#run = undefined
    const open = [...this.#uses].filter(([, use]) => use.results === 0).map(([id]) => id)
    if (open.length > 0 && event.type !== 'session.deleted')
      this.#fault(event, `leaves ${open.join(', ')} without a result`)
    this.#uses.clear()
    if (event.type === 'session.deleted') return
    if (!run) {
      this.#fault(event, 'ends a run while no run is in progress')
      return
    }
    if (event.prompt_id !== run.promptId) this.#fault(event, `ends ${event.prompt_id}, not ${run.promptId}`)
    if (event.run_id !== run.runId) this.#fault(event, `ends ${event.run_id}, not ${run.runId}`)
    // A run that a budget paused is resumed.
    if (!budgetReached(event)) this.#ended.add(run.promptId)
  }
}
