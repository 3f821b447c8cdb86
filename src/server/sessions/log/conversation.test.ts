import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { exchangeOf, messagesOf } from './conversation.ts'
import { eventStore, withId } from './event-store.ts'

const { pool } = await freshDatabase()
const events = eventStore(pool)

const text = (said: string) => [{ type: 'text', text: said } as const]
const asks = (prompt: string): NewEvent => ({
  type: 'user.message',
  prompt_id: prompt,
  content: text(prompt),
  model: '',
})
const run = (prompt: string, answers = 1): NewEvent[] => [
  { type: 'session.status_running', prompt_id: prompt, run_id: `run_${prompt}` },
  ...Array.from(
    { length: answers },
    (_, at): NewEvent => ({ type: 'agent.message', content: text(`${prompt} ${at}`) }),
  ),
  { type: 'session.status_idle', prompt_id: prompt, stop_reason: { type: 'end_turn' }, stop_details: null },
]

async function sessionWith(log: readonly NewEvent[]): Promise<string> {
  const id = await storedSession(pool)
  for (let at = 0; at < log.length; at += 1_000) await events.append(id, log.slice(at, at + 1_000).map(withId))
  return id
}

const saidIn = (messages: Awaited<ReturnType<typeof messagesOf>>) =>
  messages.map(({ parts }) => String(parts.at(-1)?.['text']))

test('R1: a conversation of more than 10,000 events returns its newest messages and the answer at its end', async () => {
  const log = [asks('a'), ...run('a', 10_200), asks('b'), ...run('b'), asks('c'), ...run('c')]
  const id = await sessionWith(log)
  assert.deepEqual(saidIn(await messagesOf(events, id, 3)), ['b 0', 'c', 'c 0'])
  assert.deepEqual(saidIn(await messagesOf(events, id)), ['a', 'a 10199', 'b', 'b 0', 'c', 'c 0'])
  const { answer, hasEnd } = await exchangeOf(events, id, 'c')
  assert.deepEqual([answer?.parts.map(part => part['text']), hasEnd], [['c 0'], true])
})

test('a limit returns the last messages of the conversation, also while prompts wait behind a long turn', async () => {
  const [begin, ...rest] = run('a', 3)
  const queued = ['b', 'c', 'd'].map(asks)
  const id = await sessionWith([asks('a'), ...(begin ? [begin] : []), ...queued, ...rest, ...run('b')])
  const all = await messagesOf(events, id)
  for (let limit = 1; limit <= all.length; limit++) {
    assert.deepEqual(await messagesOf(events, id, limit), all.slice(-limit), `the newest ${limit}`)
  }
})

test('a prompt has started once a model has answered it, alone or in the turn that it joined', async () => {
  const start = (...prompt_ids: string[]): NewEvent => ({ type: 'span.model_request_start', model: '', prompt_ids })
  const begins: NewEvent = { type: 'session.status_running', prompt_id: 'a', run_id: 'run_a' }
  const says: NewEvent = { type: 'agent.message', content: text('hi') }
  const begun = async (...log: NewEvent[]) => {
    const id = await sessionWith([asks('a'), asks('b'), begins, ...log])
    return [(await exchangeOf(events, id, 'a')).hasBegun, (await exchangeOf(events, id, 'b')).hasBegun]
  }
  assert.deepEqual(await begun(), [false, false])
  assert.deepEqual(await begun(start('a')), [false, false])
  assert.deepEqual(await begun(start('a'), says), [true, false])
  assert.deepEqual(await begun(start('a'), says, start('b')), [true, false])
  assert.deepEqual(await begun(start('a'), says, start('b'), says), [true, true])
})
