import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../contract/events.ts'
import { TaskReading } from '../../a2a/task-reading.ts'
import type { Json } from '../../platform/json.ts'
import { waitedFor } from './waiting.ts'

const prompt = { id: 'prm_1', session_id: 'ses_1', message_id: null, created_at: new Date(0) }
const row = { ...prompt, agent_id: 'agent_1' } as Parameters<typeof waitedFor>[0]['row']
const at = { processed_at: '2026-01-01T00:00:00.000Z' }
const written = (id: string, text: string) => ({ type: 'agent.message', id, content: [{ type: 'text', text }], ...at })
const running = { type: 'session.status_running', id: 'evt_1', prompt_id: prompt.id, ...at }
const ended = { type: 'session.prompt_ended', id: 'evt_9', prompt_id: prompt.id, state: 'done', ...at }

const takes = (reading: TaskReading, ...events: object[]) =>
  events.flatMap(event => reading.take(event as unknown as SessionEvent))

/** Waits for a task whose agent wrote one message before the wait and one during it; returns the texts of the progress. */
async function progressOf(params: Json): Promise<unknown[]> {
  const reading = new TaskReading(prompt)
  takes(reading, running, written('evt_2', 'Before.'))
  const notes: Json[] = []
  const message = {
    jsonrpc: '2.0' as const,
    id: 1,
    method: 'tools/call',
    params: { ...params, _meta: { progressToken: 'p' } },
  }
  const wait = {
    message,
    canAnswer: false,
    signal: new AbortController().signal,
    notify: (note: Json) => notes.push(note),
  }
  async function* untilOver() {
    yield* takes(reading, written('evt_3', 'After.'))
    yield* takes(reading, ended)
  }
  await waitedFor({ row, reading, after: 2 }, wait, { log: { untilOver }, agentName: 'Ada' })
  return notes.map(note => (note['params'] as Json)['message'])
}

test('progress has the messages that the agent wrote before the wait, except in a repeated request', async () => {
  assert.deepEqual(await progressOf({}), ['Before.', 'After.', 'working'])
  assert.deepEqual(await progressOf({ requestState: row.id }), ['After.', 'working'])
})
