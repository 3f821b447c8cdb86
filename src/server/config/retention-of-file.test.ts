import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyFile } from './file.ts'
import { retentionOfFile } from './retention-of-file.ts'

function read(retention: Record<string, string>) {
  const problems: string[] = []
  const file = { ...emptyFile, value: { retention } }
  return { settings: retentionOfFile({ file, report: text => problems.push(text) }), problems }
}

const dayMs = 86_400_000

test('V8: by default deleted sessions, deliveries and bodies are kept for a week and all else forever', () => {
  assert.deepEqual(read({}).settings, {
    deletedSessionsMs: 7 * dayMs,
    deliveriesMs: 7 * dayMs,
    sessionsMs: undefined,
    filesMs: undefined,
    bodiesMs: 7 * dayMs,
    ledgerMs: undefined,
    auditMs: undefined,
  })
})

test('V8: times have a unit, and never keeps data forever', () => {
  const { settings } = read({
    deleted_sessions: 'never',
    deliveries: '90s',
    sessions: '30d',
    files: '2d',
    bodies: '1h',
    ledger: '12h',
    audit: '5m',
  })
  assert.deepEqual(settings, {
    deletedSessionsMs: undefined,
    deliveriesMs: 90_000,
    sessionsMs: 30 * dayMs,
    filesMs: 2 * dayMs,
    bodiesMs: dayMs / 24,
    ledgerMs: dayMs / 2,
    auditMs: 300_000,
  })
})

test('V8: an invalid time is rejected with its key', () => {
  for (const text of ['', '7', '0d', '-1d', '7 days', '7w', '99999999d', 'toString']) {
    assert.deepEqual(read({ ledger: text }).problems, ['retention.ledger must be a time such as 12h or 30d, or never'])
  }
})
