import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyPath } from './api.ts'

test('P1: no alias is the path of another route, whatever stands in the places of ids', () => {
  const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{}')
  const lines = everyPath.map(({ method, path }) => `${method} ${shapeOf(path)}`)
  assert.deepEqual(
    lines.filter((line, at) => lines.indexOf(line) !== at),
    [],
  )
  const aliases = everyPath.filter(({ path, aliases = [] }) => aliases.includes(path)).map(({ path }) => path)
  const others = everyPath.filter(({ path }) => !aliases.includes(path)).map(({ path }) => path)
  for (const alias of aliases) {
    const pattern = new RegExp(`^${alias.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    const taken = others.filter(path => pattern.test(path) && !path.includes('/models/{model}:'))
    assert.deepEqual(taken, [], `${alias} would take the requests of another route`)
  }
})
