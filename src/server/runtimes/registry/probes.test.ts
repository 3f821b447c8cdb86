import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RuntimeFailure, type RuntimeKind } from '../runtime.ts'
import type { KnownRuntime } from './known-runtimes.ts'
import { createProbes } from './probes.ts'

test('M8: what a test of a program says holds no value of its variables, and neither does what is kept of it', async () => {
  const kept: unknown[] = []
  const kind = {
    check: () => Promise.reject(new RuntimeFailure('unknown_error', 'the program failed: no login canary-0123-abcd')),
  } as unknown as RuntimeKind
  const endpoint = { id: 'own', apiBase: '', apiKey: undefined, command: ['own'], env: { LOGIN: 'canary-0123-abcd' } }
  const found = { id: 'own', spec: 'acp', endpoint } as unknown as KnownRuntime
  const probes = createProbes({
    ownId: 'builtin',
    kinds: new Map([['acp', kind]]),
    known: { find: async () => found },
    store: { setHealth: async ({ error }) => void kept.push(error) },
    nowMs: () => 0,
  })
  const error = 'the program failed: no login [secret]'
  assert.deepEqual(await probes.test('own'), { ok: false, latency_ms: 0, error })
  assert.deepEqual(kept, [error])
})
