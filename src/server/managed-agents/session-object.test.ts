import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createdRange } from '../http/created-range.ts'
import { resolvedConfig, updatedConfig } from './environment-config.ts'
import { centsOf, usdOf } from './money.ts'
import { changesOfSession } from './session-changes.ts'
import { resourcesOf, statusIn } from './session-object.ts'
import { repositoryOf } from './session-write.ts'
import { archivedIn, statusesOf } from './statuses.ts'

test('cents and dollars are exact both ways', () => {
  for (const [cents, usd] of [
    ['1', '0.01'],
    ['99', '0.99'],
    ['2550', '25.50'],
    ['99999999999999', '999999999999.99'],
  ] as const) {
    assert.equal(usdOf(cents), usd)
    assert.equal(centsOf(usd), cents)
  }
  assert.equal(centsOf('3'), '300')
  assert.equal(centsOf('0.129'), '12')
  fc.assert(fc.property(fc.bigInt({ min: 1n, max: 10n ** 13n }), n => centsOf(usdOf(String(n))) === String(n)))
})

test('each session status maps to a status of the dialect', () => {
  const words = (['pending', 'running', 'idle', 'error'] as const).map(status => statusIn(status, false))
  assert.deepEqual(words, ['running', 'running', 'idle', 'idle'])
  assert.equal(statusIn('idle', true), 'terminated')
})

test('a repository is stored in the environment and returned as the same resource', () => {
  const session = (environment: object) =>
    ({ id: 'ses_1', environment, time: { created: 0, updated: 0 } }) as unknown as Parameters<typeof resourcesOf>[0]
  for (const checkout of [{ type: 'branch', name: 'next' }, { type: 'commit', sha: 'a'.repeat(40) }, null] as const) {
    const url = 'https://github.com/example/things'
    const [shown] = resourcesOf(session(repositoryOf([{ type: 'github_repository', url, checkout }])))
    assert.ok(shown?.type === 'github_repository')
    assert.deepEqual([shown.url, shown.checkout, shown.mount_path], [url, checkout, '/workspace/things'])
  }
  assert.deepEqual(resourcesOf(session({})), [])
  assert.deepEqual(repositoryOf([]), {})
})

test('a repository token is rejected, since others could read it', () => {
  const resource = { type: 'github_repository', url: 'https://github.com/a/b', authorization_token: 'ghp_x' } as const
  assert.throws(() => repositoryOf([resource]), /authorization_token/)
})

test('an update contains only the fields that differ', () => {
  const changes = (body: object, title: string | null = 'A', metadata = { a: '1' }) =>
    changesOfSession({ title, metadata, body })
  assert.equal(changes({}), undefined)
  assert.equal(changes({ title: 'A', metadata: { a: '1', b: null } }), undefined)
  assert.equal(changes({ title: null }, null), undefined)
  assert.deepEqual(changes({ title: '  ' }), { title: null })
  assert.deepEqual(changes({ title: 'B', metadata: { a: null } }), { title: 'B', metadata: {} })
  assert.deepEqual(changes({ budget: null }), { budget: null })
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v']))
  assert.throws(() => changes({ metadata: many }), /at most 16 keys/)
})

test('an update of an environment keeps absent fields and rejects another type', () => {
  const networking = { type: 'limited' as const, allowed_hosts: ['a.example'], allow_mcp_servers: true }
  const first = resolvedConfig({ type: 'cloud', networking, packages: { npm: ['x'] } })
  const second = updatedConfig(first, { type: 'cloud', packages: { pip: ['y'] } })
  assert.deepEqual(second['networking'], { ...networking, allow_package_managers: false })
  assert.deepEqual(second['packages'], {
    type: 'packages',
    apt: [],
    cargo: [],
    gem: [],
    go: [],
    npm: ['x'],
    pip: ['y'],
  })
  assert.deepEqual(updatedConfig(second, null), second)
  assert.deepEqual(updatedConfig(second, { type: 'cloud', networking: { type: 'unrestricted' } })['networking'], {
    type: 'unrestricted',
  })
  assert.throws(() => updatedConfig(first, { type: 'self_hosted' }), /config\.type/)
  assert.deepEqual(resolvedConfig({ type: 'self_hosted' }), { type: 'self_hosted' })
})

test('archived sessions are the terminated ones, and are listed on request', () => {
  assert.equal(archivedIn(undefined, false), 'without')
  assert.equal(archivedIn(undefined, true), 'with')
  assert.equal(archivedIn(['idle'], true), 'without')
  assert.equal(archivedIn(['idle', 'terminated'], false), 'with')
  assert.equal(archivedIn(['terminated'], false), 'only')
})

test('a time range includes the returned times at its bounds', () => {
  const at = '2026-01-02T03:04:05.678Z'
  const time = Date.parse(at)
  const range = (query: object) => {
    const { from, before } = createdRange(query)
    return [from?.getTime(), before?.getTime()]
  }
  assert.deepEqual(range({}), [undefined, undefined])
  assert.deepEqual(range({ 'created_at[gte]': at, 'created_at[lt]': at }), [time, time])
  assert.deepEqual(range({ 'created_at[gt]': at, 'created_at[lte]': at }), [time + 1, time + 1])
  assert.throws(() => createdRange({ 'created_at[gt]': '2026-13-40T00:00:00Z' }), /created_at\[gt\]/)
})

test('statuses are accepted in every spelling, and unknown ones are rejected', () => {
  assert.equal(statusesOf(undefined), undefined)
  assert.deepEqual(statusesOf('idle'), ['idle'])
  assert.deepEqual(statusesOf(['idle', 'running']), ['idle', 'running'])
  assert.deepEqual(statusesOf('idle,running'), ['idle', 'running'])
  assert.deepEqual(statusesOf('rescheduling'), [])
  assert.throws(() => statusesOf('pending'), /statuses must be one of/)
})
