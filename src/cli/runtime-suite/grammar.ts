import { askedBy, budgetReached, endsRun, type SessionEvent } from '../../contract/events.ts'

/** What a log says that no log may say; empty for a log that is right. Pure. */
export function faultsOf(log: readonly SessionEvent[]): string[] {
  const reading = new LogReading()
  for (const [at, event] of log.entries()) reading.take(event, at)
  return reading.faults
}

interface Run {
  readonly promptId: unknown
  readonly runId: unknown
}

const uses = new Set(['agent.tool_use', 'agent.mcp_tool_use'])
const results = new Set(['agent.tool_result', 'agent.mcp_tool_result'])
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

class LogReading {
  readonly faults: string[] = []
  readonly #ids = new Set<string>()
  /** Tool calls of the run in work; ids may come again in the next. */
  readonly #uses = new Map<unknown, { results: number }>()
  readonly #ended = new Set<unknown>()
  #run: Run | undefined
  /** A result that no call asked for: what a coding runtime says last. Interface: Events. */
  #closing: SessionEvent | undefined

  take(event: SessionEvent, at: number): void {
    this.#checkFrame(event, at)
    if (this.#closing && !endsRun(event)) this.#fault(this.#closing, 'is the result of a call that nobody made')
    this.#closing = undefined
    this.#checkTools(event)
    if (event.type === 'session.status_running') this.#begin(event)
    else if (event.type.startsWith('agent.') && !this.#run) this.#fault(event, 'comes while nothing runs')
    if (endsRun(event)) this.#end(event)
    this.#ids.add(event.id)
  }

  #fault({ seq, type }: SessionEvent, text: string): void {
    this.faults.push(`event ${seq} (${type}) ${text}`)
  }

  #checkFrame(event: SessionEvent, at: number): void {
    if (event.seq !== at + 1) this.#fault(event, `stands at place ${at + 1}`)
    if (this.#ids.has(event.id)) this.#fault(event, `has the id ${event.id} of an earlier one`)
    if (!isoTime.test(event.processed_at)) this.#fault(event, `has ${event.processed_at} as processed_at`)
    for (const id of askedBy(event)) if (!this.#ids.has(id)) this.#fault(event, `asks about ${id}, which is not there`)
  }

  #checkTools(event: SessionEvent): void {
    const callId = event['tool_use_id'] ?? event['mcp_tool_use_id']
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
    // A run that goes on after a question to a person says so without naming its prompt.
    if (this.#run && (promptId === undefined || promptId === this.#run.promptId)) return
    if (this.#run) this.#fault(event, 'begins before the run in work has ended')
    if (promptId === undefined || runId === undefined) this.#fault(event, 'names no prompt_id and run_id')
    if (this.#ended.has(promptId)) this.#fault(event, `runs prompt ${promptId} again`)
    this.#run = { promptId, runId }
  }

  #end(event: SessionEvent): void {
    const run = this.#run
    this.#run = undefined
    const open = [...this.#uses].filter(([, use]) => use.results === 0).map(([id]) => id)
    if (open.length > 0 && event.type !== 'session.deleted')
      this.#fault(event, `leaves ${open.join(', ')} without result`)
    this.#uses.clear()
    if (event.type === 'session.deleted') return
    if (!run) {
      this.#fault(event, 'ends a run while nothing runs')
      return
    }
    if (event['prompt_id'] !== run.promptId) this.#fault(event, `ends ${event['prompt_id']}, not ${run.promptId}`)
    if (event['run_id'] !== run.runId) this.#fault(event, `ends ${event['run_id']}, not ${run.runId}`)
    // Such a run is taken up again.
    if (!budgetReached(event)) this.#ended.add(run.promptId)
  }
}
