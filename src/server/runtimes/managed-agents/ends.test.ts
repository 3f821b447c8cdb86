import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSound, managedAgentsStage, story } from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { promptOf } from '../../../../test/support/sessions/run-rig.ts'
import type { Json } from '../../platform/json.ts'

const idle = (type: string): Json => ({ type: 'session.status_idle', stop_reason: { type }, stop_details: null })
const error = (status: string | undefined, fields: Json = {}): Json => ({
  type: 'session.error',
  error: {
    type: 'model_overloaded_error',
    message: 'too busy',
    ...(status !== undefined && { retry_status: { type: status } }),
    ...fields,
  },
})

const table: readonly (readonly [guarantee: string, end: Json, told: readonly string[]])[] = [
  ['the end of a turn ends the run', idle('end_turn'), ['idle end_turn']],
  ['a refusal ends the run with that reason', idle('refusal'), ['idle refusal']],
  ['a budget of the provider ends the run instead of pausing it', idle('budget_reached'), ['idle end_turn']],
  ['an idle without a reason ends the run', { type: 'session.status_idle' }, ['idle end_turn']],
  ['exhausted retries fail the run', idle('retries_exhausted'), ['terminal: the runtime used up its retries']],
  ['an exhausted error fails the run', error('exhausted'), ['exhausted: too busy']],
  ['a terminal error fails the run', error('terminal'), ['terminal: too busy']],
  ['an error without a retry status fails the run', error(undefined), ['terminal: too busy']],
  [
    "an error's words come without markup and without our key",
    error('terminal', { message: '<b>bad</b> key\nsk-fake' }),
    ['terminal: bad key [secret]'],
  ],
  [
    'a terminated session fails the run',
    { type: 'session.status_terminated' },
    ['session.status_terminated', 'terminal: the runtime terminated the session'],
  ],
  [
    'a session that was deleted at the provider fails the run and deletes nothing here',
    { type: 'session.deleted' },
    ['terminal: the session was deleted at the runtime'],
  ],
  [
    'a question that this server cannot answer fails the run',
    { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: ['sevt_unknown'] } },
    ['terminal: the runtime waits for an answer that this server cannot send'],
  ],
]

for (const [guarantee, end, told] of table) {
  test(guarantee, async t => {
    const { rig, runtime } = await managedAgentsStage(t, {
      script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { end }],
    })
    await rig.run(runtime, promptOf('Go'))
    assert.deepEqual(
      story(rig.log).filter(text => !text.startsWith('error interrupted')),
      ['running', 'uses bash', ...told],
    )
    assertSound(rig.log)
  })
}

test('an unknown type of error becomes unknown_error with its message', async t => {
  const { rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ end: error('terminal', { type: 'gremlin_error' }) }],
  })
  await rig.run(runtime, promptOf('Go'))
  const last = rig.log.at(-1)?.error as { type: string; message: string }
  assert.deepEqual([last.type, last.message], ['unknown_error', 'too busy'])
})

test('an event that delays the turn is logged, and the run continues', async t => {
  const steps = [
    { raw: error('retrying') },
    { raw: error('some_new_word') },
    { raw: { type: 'session.status_rescheduled' } },
    { raw: { type: 'session.status_running' } },
    { say: 'Done.' },
  ]
  const { rig, runtime } = await managedAgentsStage(t, { script: () => steps })
  await rig.run(runtime, promptOf('Go'))
  const retrying = 'retrying: too busy'
  assert.deepEqual(story(rig.log), [
    'running',
    retrying,
    retrying,
    'session.status_rescheduled',
    'running',
    'says Done.',
    'idle end_turn',
  ])
})
