import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from './api.ts'
import { insteadOf } from './not-here.ts'

const paths = ['/v1/vaults', '/v1/memory_stores', '/v1/skills', '/v1/deployments']

test('what is named in the place of a path is a route of the service, and the path is none', () => {
  for (const path of paths) {
    const [named] = /\/api\/[\w/{}]+/.exec(insteadOf(path) ?? '') ?? []
    assert.ok(
      allRoutes.some(route => route.path === named),
      `${path}: ${named}`,
    )
    assert.ok(!allRoutes.some(route => route.path.startsWith(path)))
  }
})

test('paths below it are answered alike, others that only begin so are not', () => {
  assert.equal(insteadOf('/v1/vaults/vlt_1/credentials'), insteadOf('/v1/vaults'))
  for (const path of ['/v1/vaultsx', '/v1', '/v1/agents', '/api/vault', '/__proto__'])
    assert.equal(insteadOf(path), undefined)
})
