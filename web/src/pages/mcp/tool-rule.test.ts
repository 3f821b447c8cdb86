import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAllowed, withTool } from './tool-rule.ts'

const cases = [
  ['all tools', { allowed_tools: null, disallowed_tools: null }],
  ['a list of allowed tools', { allowed_tools: ['a', 'b'], disallowed_tools: null }],
  ['a list of denied tools', { allowed_tools: null, disallowed_tools: ['b', 'c'] }],
  ['both lists', { allowed_tools: ['a', 'b', 'c'], disallowed_tools: ['b'] }],
  ['an empty list', { allowed_tools: [], disallowed_tools: null }],
] as const

for (const [name, lists] of cases) {
  test(`a tool can be denied and allowed again, and others stay as they are: ${name}`, () => {
    const server = {
      allowed_tools: lists.allowed_tools && [...lists.allowed_tools],
      disallowed_tools: lists.disallowed_tools && [...lists.disallowed_tools],
    }
    for (const tool of ['a', 'b', 'c', 'new']) {
      const others = ['a', 'b', 'c', 'new', 'other'].filter(each => each !== tool)
      const before = others.map(each => isAllowed(server, each))
      for (const isOn of [false, true]) {
        const { allowed_tools = server.allowed_tools, disallowed_tools = server.disallowed_tools } = withTool(
          server,
          tool,
          isOn,
        )
        const after = { allowed_tools, disallowed_tools }
        assert.equal(isAllowed(after, tool), isOn)
        assert.deepEqual(
          others.map(each => isAllowed(after, each)),
          before,
        )
      }
    }
  })
}
