import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionSummary } from '../../../../src/contract/session-summaries.ts'
import { sessionsFile } from './sessions-file.ts'

const session = {
  id: 'ses_1',
  title: 'a title',
  owner_id: 'ada',
  agent_name: null,
  agent_version: null,
  runtime: 'builtin',
  status: 'idle',
  activity: { kind: 'idle', name: null, since: null, until: null, reason: null, message: null },
  input_tokens: 10,
  output_tokens: 2,
  cost_usd: '0.5',
  created_at: '2026-11-25T10:00:00.000Z',
} as SessionSummary

/** Formulas that white space, another alphabet or a separator of some spreadsheets hides. */
const hostile = [
  ['=1+1', "'=1+1"],
  ['  =1+1', "'  =1+1"],
  ['\n=1+1', `"'\n=1+1"`],
  ['＝1+1', "'＝1+1"],
  ['a;=1+1', '"a;=1+1"'],
  ['a\t=1+1', '"a\t=1+1"'],
] as const

test('S47: titles of exported sessions start no formula', () => {
  for (const [title, written] of hostile) {
    const [, row = ''] = sessionsFile([{ ...session, title }]).split('\r\n')
    assert.equal(row, `ses_1,${written},ada,,,builtin,idle,idle,10,2,0.5,2026-11-25T10:00:00.000Z`)
  }
})
