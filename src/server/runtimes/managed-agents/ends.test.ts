import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSound, managedAgentsStage, story } from '../../../../test/support/managed-agents-stage.ts'
import { promptOf } from '../../../../test/support/run-rig.ts'
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
  ['the end of a turn is the end of the run', idle('end_turn'), ['idle end_turn']],
  ['a refusal ends the run as one', idle('refusal'), ['idle refusal']],
  ['a budget over there ends the run; it does not wait for one of ours', idle('budget_reached'), ['idle end_turn']],
  ['an idle without a reason ends the run', { type: 'session.status_idle' }, ['idle end_turn']],
  [
    'retries that are used up fail the run',
    idle('retries_exhausted'),
    ['terminal: the runtime gave up after it had tried several times'],
  ],
  ['an error that is exhausted fails the run', error('exhausted'), ['exhausted: too busy']],
  ['an error that is terminal fails the run', error('terminal'), ['terminal: too busy']],
  ['an error that does not say fails the run', error(undefined), ['terminal: too busy']],
  [
    "an error's words come without markup and without our key",
    error('terminal', { message: '<b>bad</b> key\nsk-fake' }),
    ['terminal: bad key [secret]'],
  ],
  [
    'a session that has ended for good fails the run',
    { type: 'session.status_terminated' },
    ['session.status_terminated', 'terminal: the runtime has ended the session'],
  ],
  [
    'a session that was deleted over there fails the run, and deletes nothing here',
    { type: 'session.deleted' },
    ['terminal: the session was deleted at the runtime'],
  ],
  [
    'a wait for something that nobody here can give fails the run',
    { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: ['sevt_unknown'] } },
    ['terminal: the runtime waits for something that this server cannot give'],
  ],
]

for (const [guarantee, end, told] of table) {
  test(guarantee, async t => {
    const { rig, runtime } = await managedAgentsStage(t, {
      script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { end }],
    })
    await rig.run(runtime, promptOf('Go'))
    assert.deepEqual(
      story(rig.log).filter(text => !text.startsWith('error cut off')),
      ['running', 'uses bash', ...told],
    )
    assertSound(rig.log)
  })
}

test('an unknown kind of error is told as one, and its words are kept', async t => {
  const { rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ end: error('terminal', { type: 'gremlin_error' }) }],
  })
  await rig.run(runtime, promptOf('Go'))
  const last = rig.log.at(-1)?.['error'] as { type: string; message: string }
  assert.deepEqual([last.type, last.message], ['unknown_error', 'too busy'])
})

test('what only delays the turn is told, and the run goes on', async t => {
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
