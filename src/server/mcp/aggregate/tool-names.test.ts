import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpToolName } from '../../tools/mcp-toolset.ts'
import { mayBeOf } from './tool-names.ts'

test('names are server__tool; long ones are cut to 64 characters and stay different', () => {
  assert.equal(mcpToolName('github', 'search'), 'github__search')
  const [server, tool] = ['s'.repeat(64), 't'.repeat(100)]
  const [one, other] = [mcpToolName(server, `${tool}1`), mcpToolName(server, `${tool}2`)]
  assert.deepEqual([one.length, other.length, one === other], [64, 64, false])
  assert.ok(mayBeOf(server, one) && mayBeOf('github', 'github__search'))
  assert.equal(mayBeOf('git', 'github__search'), false)
})
