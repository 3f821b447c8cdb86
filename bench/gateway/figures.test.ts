import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mode, Program } from './contenders.ts'
import { type Figure, figuresOf, verdictOf } from './figures.ts'
import type { LoadResult } from './gateway-load.ts'
import type { Sample } from './rounds.ts'
import type { ScenarioName } from './scenario-name.ts'

const verdicts: readonly (readonly [string, Pick<Figure, 'value' | 'goal'>, string])[] = [
  ['a figure without a goal has no verdict', { value: 9 }, ''],
  ['a figure at its target is in order', { value: 1.5, goal: { is: 'at most', target: 1.5 } }, 'ok'],
  ['a figure over its target has missed it', { value: 1.51, goal: { is: 'at most', target: 1.5 } }, 'MISSED'],
  ['too little has missed a lower target', { value: 11, goal: { is: 'at least', target: 12 } }, 'MISSED'],
  [
    'between target and limit is told',
    { value: 300, goal: { is: 'at most', target: 250, limit: 350 } },
    'beyond target',
  ],
  ['beyond the limit is missed', { value: 351, goal: { is: 'at most', target: 250, limit: 350 } }, 'MISSED'],
  [
    'a target that is only told cannot be missed',
    { value: 9, goal: { is: 'at most', target: 1, limit: Number.POSITIVE_INFINITY } },
    'beyond target',
  ],
  ['what was not measured has missed its target', { value: Number.NaN, goal: { is: 'at most', target: 1 } }, 'MISSED'],
]

for (const [guarantee, figure, expected] of verdicts) {
  test(guarantee, () => assert.equal(verdictOf(figure), expected))
}

const spread = { p50: 1, p99: 2 }
const quiet: LoadResult = {
  elapsedMs: 1_000,
  calls: 500,
  broken: 0,
  lostEvents: 0,
  stalls: 0,
  maxOpen: 500,
  relay: spread,
  firstByte: spread,
  firstContent: spread,
  whole: spread,
}

interface Given {
  readonly cpuUs?: number
  readonly result?: Partial<LoadResult>
}

const sample = (place: readonly [Program, Mode, ScenarioName], { cpuUs = 10, result = {} }: Given): Sample => ({
  program: place[0],
  mode: place[1],
  scenario: place[2],
  cpuUs,
  childrenUs: 0,
  residentMib: 100,
  maxResidentMib: 120,
  result: { ...quiet, ...result },
})

const figureOf = (samples: readonly Sample[], name: string): number => {
  const figure = figuresOf({ samples }).find(each => each.name === name)
  assert.ok(figure, name)
  return figure.value
}

test('a ratio compares the medians of the rounds', () => {
  const samples = [
    ...[60, 70, 500].map(cpuUs => sample(['Switchyard', 'passthrough', 'json'], { cpuUs })),
    ...[50, 40, 60].map(cpuUs => sample(['bare proxy', 'passthrough', 'json'], { cpuUs })),
  ]
  assert.equal(figureOf(samples, 'passthrough json: CPU time, Switchyard / bare proxy'), 1.4)
})

test('an added time is that through the gateway minus that without anything in between', () => {
  const samples = [
    sample(['Switchyard', 'translation', 'one stream'], { result: { firstByte: { p50: 0.9, p99: 3 } } }),
    sample(['direct', 'translation', 'one stream'], { result: { firstByte: { p50: 0.5, p99: 1 } } }),
  ]
  assert.equal(figureOf(samples, 'translation, one client: added time to first byte, p50'), 0.4)
  assert.equal(figureOf(samples, 'translation, one client: added time to first byte, p99'), 2)
})

test('lost events of every round count', () => {
  const samples = [3, 0, 4].map(lostEvents =>
    sample(['Switchyard', 'passthrough', 'paced'], { result: { lostEvents } }),
  )
  assert.equal(figureOf(samples, 'passthrough, 500 streams: lost events or broken streams'), 7)
})

test('without a peer the figures that need it are not measured, and no others', () => {
  const samples = [sample(['Switchyard', 'passthrough', 'json'], {}), sample(['bare proxy', 'passthrough', 'json'], {})]
  assert.ok(Number.isNaN(figureOf(samples, 'passthrough json: CPU time, Portkey / Switchyard')))
  assert.equal(figureOf(samples, 'passthrough json: CPU time, Switchyard / bare proxy'), 1)
})
