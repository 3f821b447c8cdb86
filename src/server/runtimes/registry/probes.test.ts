import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RuntimeFailure, type RuntimeKind } from '../runtime.ts'
import type { ExternalRuntime } from './external-runtimes.ts'
import { createProbes } from './probes.ts'

test('M8: the result of a program test, returned and stored, contains no value of its variables', async () => {
  const stored: unknown[] = []
  const kind = {
    check: () => Promise.reject(new RuntimeFailure('unknown_error', 'the program failed: no login canary-0123-abcd')),
  } as unknown as RuntimeKind
  const endpoint = { id: 'own', apiBase: '', apiKey: undefined, command: ['own'], env: { LOGIN: 'canary-0123-abcd' } }
  const found = { id: 'own', spec: 'acp', endpoint } as unknown as ExternalRuntime
  const probes = createProbes({
    ownId: 'builtin',
    kinds: new Map([['acp', kind]]),
    externals: { find: async () => found },
    store: { setHealth: async ({ error }) => void stored.push(error) },
    nowMs: () => 0,
  })
  const error = 'the program failed: no login [secret]'
  assert.deepEqual(await probes.test('own'), { ok: false, latency_ms: 0, error })
  assert.deepEqual(stored, [error])
})
