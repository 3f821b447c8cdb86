import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messagesBody } from './bodies.ts'
import { figuresOf } from './figures.ts'
import type { Sample } from './rounds.ts'
import { scenarios } from './scenarios.ts'

const scenario = {
  name: 'JSON',
  path: '/v1/messages',
  body: (model: string) => messagesBody(model, 1_000),
  upstream: 'whole',
  caller: 'master',
  connections: 1,
  per: 'call',
  overProxy: 2,
  overOther: 0.85,
} as const

const sample = (contender: string, cpuUs: number): Sample => {
  return {
    contender,
    scenario: scenario.name,
    cpuUs,
    childrenUs: 1,
    callsPerSecond: 1,
    p50Ms: 1,
    p99Ms: 1,
    residentMib: 1,
  }
}

const samples = [
  ...[90, 100, 900].map(cpuUs => sample('bare proxy', cpuUs)),
  ...[150, 160, 170].map(cpuUs => sample('this tree', cpuUs)),
  ...[200, 190, 210].map(cpuUs => sample('abc1234', cpuUs)),
]

test('ratios are of the medians of all slices, with the targets of the scenario', () => {
  const names = { own: 'this tree', proxy: 'bare proxy', other: 'abc1234' }
  const [overProxy, overOther] = figuresOf(scenario, names, samples)
  assert.deepEqual([overProxy?.value, overProxy?.target], [1.6, 2])
  assert.deepEqual([overOther?.value, overOther?.target], [0.8, 0.85])
  assert.equal(overOther?.detail, 'CPU us per call: 160 (150 to 170) / 200 (190 to 210)')
})

test('without another commit only the bare proxy is compared with', () => {
  const names = figuresOf(scenario, { own: 'this tree', proxy: 'bare proxy' }, samples).map(({ name }) => name)
  assert.deepEqual(names, ['JSON: CPU, this tree / bare proxy', 'JSON: bare proxy', 'JSON: this tree'])
})

for (const { name, body } of scenarios) {
  const expected = /305 KB/.test(name) ? 305_000 : /300 KB/.test(name) ? 300_000 : 2_500
  test(`the body of "${name}" is valid JSON of the size in its title`, () => {
    const text = body('bench/model')
    assert.equal(JSON.parse(text).model, 'bench/model')
    assert.ok(Math.abs(text.length / expected - 1) < 0.1, `${text.length} bytes`)
  })
}
