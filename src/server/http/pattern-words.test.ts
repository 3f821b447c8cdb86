import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes } from '../../contract/api.ts'
import { patternWords } from '../../contract/pattern-words.ts'
import { validationMessage } from './validation.ts'

/** Returns every `pattern` in a schema, including those of member names. */
function patternsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { pattern, patternProperties = {} } = schema as { pattern?: unknown; patternProperties?: object }
  const names = Object.keys(patternProperties).filter(name => name !== '^.*$' && name !== '^(.*)$')
  return [...(typeof pattern === 'string' ? [pattern] : []), ...names, ...Object.values(schema).flatMap(patternsIn)]
}

for (const { id, body, query, params } of allRoutes) {
  const patterns = new Set([body, query, params].flatMap(patternsIn))
  if (patterns.size === 0) continue
  test(`D9: no message of ${id} contains a regular expression`, () => {
    for (const pattern of patterns) {
      assert.ok(Object.hasOwn(patternWords, pattern), `contract/pattern-words.ts has no words for ${pattern}`)
      const error = {
        keyword: 'pattern',
        instancePath: '/field',
        schemaPath: '',
        params: { pattern },
        message: pattern,
      }
      const message = validationMessage([error], 'body')
      assert.ok(message.startsWith('field must ') && !message.includes(pattern), message)
    }
  })
}
