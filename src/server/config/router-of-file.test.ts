import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()

const models = `
model_list:
  - {model_name: opus, params: {model: anthropic/claude-opus-5-5}}
  - {model_name: sonnet, params: {model: anthropic/claude-sonnet-5}}
  - {model_name: "openai/*", params: {model: "openai/*"}}
`

test('a missing router block results in the defaults', () => {
  assert.deepEqual(load({ yaml: models }).router, {
    retries: 2,
    cooldown: { failures: 3, windowMs: 60_000, outMs: 30_000 },
    fallbacks: {},
    contextWindowFallbacks: {},
    policyFallbacks: {},
    sticky: true,
  })
})

test('a router block sets every field; wildcards may cover targets', () => {
  const { router } = load({
    yaml: `${models}
router:
  retries: 0
  cooldown: {failures: 5, window_s: 30, seconds: 0.5}
  fallbacks: {opus: [sonnet, openai/gpt-5.5, demo], "openai/*": [opus], openai/gpt-5.5: [sonnet]}
  context_window_fallbacks: {sonnet: [opus]}
  policy_fallbacks: {opus: [sonnet]}
  sticky: false
`,
  })
  assert.deepEqual(router, {
    retries: 0,
    cooldown: { failures: 5, windowMs: 30_000, outMs: 500 },
    fallbacks: {
      opus: ['sonnet', 'openai/gpt-5.5', 'demo'],
      'openai/*': ['opus'],
      'openai/gpt-5.5': ['sonnet'],
    },
    contextWindowFallbacks: { sonnet: ['opus'] },
    policyFallbacks: { opus: ['sonnet'] },
    sticky: false,
  })
})

const faults = [
  [
    'a wildcard as a target',
    'fallbacks: {opus: ["openai/*"]}',
    'router.fallbacks.opus[0] openai/* is a wildcard; name one model',
  ],
  ['a list that is none', 'fallbacks: {opus: sonnet}', 'router.fallbacks.opus must be a list'],
  ['an unknown key', 'retrys: 3', 'unknown key router.retrys; did you mean retries?'],
  ['a negative number', 'retries: -1', 'router.retries must be a whole number of 0 or more'],
] as const

for (const [name, block, expected] of faults) {
  test(`${name} stops the start and is reported with its line`, () => {
    assert.deepEqual(problemsOf({ yaml: `${models}router:\n  ${block}\n` }), [`7: ${expected}`])
  })
}

test('a fallback to an invalid entry is not reported as a second problem', () => {
  const yaml = `model_list:
  - {model_name: a, params: {model: anthropic/x}}
  - {model_name: b, params: {model: anthropic/x, weight: -1}}
router: {fallbacks: {a: [b]}}
`
  assert.deepEqual(problemsOf({ yaml }), ['3: model_list[1].params.weight must be a number of 0 or more'])
})

const doubts = [
  [
    'fallbacks: {opus: [sonet]}',
    'router.fallbacks.opus[0] sonet is not a model of the file; it takes effect once a model of that name is added by the API; did you mean sonnet?',
  ],
  [
    'policy_fallbacks: {gemini: [opus]}',
    'router.policy_fallbacks.gemini is not a model of the file; it takes effect once a model of that name is added by the API',
  ],
] as const

for (const [block, expected] of doubts) {
  test(`${block} may name a model that the API adds later: it is a warning`, () => {
    const { warnings } = load({ yaml: `${models}router:\n  ${block}\n` })
    assert.ok(warnings.includes(expected), warnings.join('\n'))
  })
}
