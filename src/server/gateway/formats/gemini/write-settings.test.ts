import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Degradations, traitsOf } from './traits.ts'
import { thinkingConfigOf } from './write-settings.ts'

const adaptive = { type: 'adaptive' }
const enabled = (budget_tokens: number) => ({ type: 'enabled', budget_tokens })
const effort = (level: string) => ({ output_config: { effort: level } })

const table = [
  ['gemini-3.1-pro-preview', { thinking: adaptive }, { includeThoughts: true }, []],
  [
    'gemini-3.1-pro-preview',
    { thinking: adaptive, ...effort('medium') },
    { includeThoughts: true, thinkingLevel: 'MEDIUM' },
    [],
  ],
  [
    'gemini-3-pro-preview',
    { thinking: adaptive, ...effort('medium') },
    { includeThoughts: true, thinkingLevel: 'HIGH' },
    [],
  ],
  ['gemini-3.8-flash', effort('max'), { thinkingLevel: 'HIGH' }, []],
  ['gemini-3.8-flash', effort('vast'), undefined, ['output_config.effort']],
  ['gemini-3.8-flash', { thinking: { type: 'disabled' } }, { thinkingLevel: 'LOW' }, ['thinking']],
  ['gemini-3.1-flash-lite', { thinking: { type: 'disabled' } }, { thinkingLevel: 'MINIMAL' }, ['thinking']],
  [
    'gemini-3.5-flash',
    { thinking: enabled(2_000) },
    { includeThoughts: true, thinkingLevel: 'LOW' },
    ['thinking.budget_tokens'],
  ],
  ['gemini-flash-latest', { thinking: { type: 'adaptive', display: 'omitted' } }, undefined, []],
  ['gemini-2.5-pro', { thinking: adaptive }, { includeThoughts: true, thinkingBudget: -1 }, []],
  ['gemini-2.5-pro', { thinking: { type: 'disabled' } }, { thinkingBudget: 128 }, ['thinking']],
  ['gemini-2.5-flash', { thinking: { type: 'disabled' } }, { thinkingBudget: 0 }, []],
  ['gemini-2.5-flash', { thinking: enabled(5_000) }, { includeThoughts: true, thinkingBudget: 5_000 }, []],
  [
    'gemini-2.5-flash',
    { thinking: enabled(60_000) },
    { includeThoughts: true, thinkingBudget: 24_576 },
    ['thinking.budget_tokens'],
  ],
  [
    'models/gemini-2.5-flash-lite',
    { thinking: adaptive, ...effort('low') },
    { includeThoughts: true, thinkingBudget: 1_024 },
    [],
  ],
  ['gemini-2.0-flash', { thinking: adaptive }, undefined, ['thinking']],
  ['gemini-2.5-flash-image', { thinking: adaptive, ...effort('low') }, undefined, ['thinking', 'output_config.effort']],
  ['gemma-3-27b-it', { thinking: adaptive }, undefined, ['thinking']],
  ['gemini-3.1-pro-preview', { max_tokens: 32_000 }, undefined, []],
  ['gemini-3.1-pro-preview', { max_tokens: 100 }, { thinkingLevel: 'LOW' }, []],
  ['gemini-2.5-flash', { max_tokens: 100 }, { thinkingBudget: 0 }, []],
  ['gemini-2.5-flash', { max_tokens: 100, thinking: adaptive }, { includeThoughts: true, thinkingBudget: -1 }, []],
] as const

for (const [model, request, expected, lost] of table) {
  test(`K7: ${model} gets ${JSON.stringify(expected)} for ${JSON.stringify(request)}`, () => {
    const degradations = new Degradations()
    assert.deepEqual(thinkingConfigOf(request, traitsOf(model), degradations), expected)
    assert.deepEqual(
      degradations.list.map(({ path }) => path),
      lost,
    )
  })
}
