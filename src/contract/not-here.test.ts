import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from './api.ts'
import { insteadOf } from './not-here.ts'

const paths = ['/v1/vaults/vlt_1/credentials/vcrd_1/mcp_oauth_validate']

test('what is named in the place of a path is a route of the service, and the path is none', () => {
  for (const path of paths) {
    const [named] = /\/(api|v1)\/[\w/{}]+/.exec(insteadOf(path) ?? '') ?? []
    assert.ok(
      allRoutes.some(route => route.path === named),
      `${path}: ${named}`,
    )
    assert.ok(!allRoutes.some(route => route.path.startsWith(path)))
  }
})

test('other paths have no alternative', () => {
  for (const path of ['/v1/deployments', '/v1', '/v1/agents', '/v1/vaults/vlt_1', '/api/vault', '/__proto__'])
    assert.equal(insteadOf(path), undefined)
})
