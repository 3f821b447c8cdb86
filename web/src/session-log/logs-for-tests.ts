import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'

type Recorded = SessionEvent & { readonly log: string }

/** Logs that a server has stored in its end-to-end tests, by what happens in them. */
const recorded: ReadonlyMap<string, readonly SessionEvent[]> = Map.groupBy(
  readFileSync(join(import.meta.dirname, 'recorded-logs.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Recorded),
  ({ log }) => log,
)

export const recordedNames = [...recorded.keys()]

export function recordedLog(name: string): readonly SessionEvent[] {
  const log = recorded.get(name)
  if (!log) throw new Error(`no recorded log ${name}`)
  return log
}

const startMs = Date.parse('2026-01-01T00:00:00.000Z')

/** Returns the time of an event in `logOf`. */
export const timeAt = (seq: number): string => new Date(startMs + seq * 1000).toISOString()

/** Returns the events as the log stores them: numbered from 1, one second after the other, `e1`, `e2` ... without an id. */
export const logOf = (...events: readonly NewEvent[]): SessionEvent[] =>
  events.map((event, at) => {
    const seq = at + 1
    return { id: `e${seq}`, ...event, seq, processed_at: timeAt(seq) } as SessionEvent
  })

const text = (value: string) => [{ type: 'text', text: value }] as const

/** Builders of the events that most tests need. */
export const prompted = (id: string, words = 'Do it'): NewEvent => ({
  type: 'user.message',
  prompt_id: id,
  content: text(words),
})
export const running = (id: string): NewEvent => ({
  type: 'session.status_running',
  prompt_id: id,
  run_id: `run_${id}`,
})
export const begun = (id: string, prompts: readonly string[] = []): NewEvent => ({
  type: 'span.model_request_start',
  id,
  model: 'demo',
  prompt_ids: prompts,
})
export const answered = (id: string): NewEvent => ({
  type: 'span.model_request_end',
  model_request_start_id: id,
  is_error: null,
  model_usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 0 },
})
export const replied = (id: string, value = 'Done'): NewEvent => ({ type: 'agent.message', id, content: text(value) })
export const called = (id: string, name = 'bash', input: object = { command: 'npm test' }): NewEvent => ({
  type: 'agent.tool_use',
  id: `call_${id}`,
  tool_use_id: id,
  name,
  input: { ...input },
  evaluated_permission: 'allow',
})
export const returned = (id: string, value = 'ok', isError = false): NewEvent => ({
  type: 'agent.tool_result',
  tool_use_id: id,
  content: text(value),
  is_error: isError,
})
export const ended = (id: string, type = 'end_turn' as const): NewEvent => ({
  type: 'session.status_idle',
  prompt_id: id,
  run_id: `run_${id}`,
  stop_reason: { type },
  stop_details: null,
})
