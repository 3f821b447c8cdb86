import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bedrockModel, modelPath, withoutAccount } from './bedrock.ts'

const account = 'arn:aws:bedrock:eu-west-1:123456789012'

const ids = [
  ['anthropic.claude-opus-5-5', 'claude', 505, 'opus'],
  ['global.anthropic.claude-sonnet-5-v1:0', 'claude', 500, 'sonnet'],
  ['us.anthropic.claude-opus-4-7', 'claude', 407, 'opus'],
  ['eu.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude', 405, 'haiku'],
  ['anthropic.claude-sonnet-4-20250514-v1:0', 'claude', 400, 'sonnet'],
  ['anthropic.claude-3-7-sonnet-20250219-v1:0', 'claude', 307, 'sonnet'],
  ['anthropic.claude-3-haiku-20240307-v1:0', 'claude', 300, 'haiku'],
  ['anthropic.claude-v2:1', 'claude', 200, undefined],
  [`${account}:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0`, 'claude', 405, 'opus'],
  [`${account}:application-inference-profile/a1b2c3`, 'claude', undefined, undefined],
  ['arn:aws:bedrock:eu-west-1::foundation-model/cohere.command-r-v1:0', 'other', undefined, undefined],
  ['us.amazon.nova-2-lite-v1:0', 'nova', undefined, undefined],
  ['openai.gpt-oss-120b-1:0', 'openai', undefined, undefined],
  ['us.meta.llama4-maverick-17b-instruct-v1:0', 'meta', undefined, undefined],
  ['qwen.qwen3-coder-30b-a3b-v1:0', 'other', undefined, undefined],
] as const

for (const [id, family, version, line] of ids) {
  test(`the id ${id} is parsed into family and, for Claude, version`, () => {
    assert.deepEqual(bedrockModel(id), { family, version, line })
  })
}

test('an ARN is one segment of the path', () => {
  assert.equal(modelPath('arn:a:b/c', 'converse'), '/model/arn%3Aa%3Ab%2Fc/converse')
})

test('the account number is removed from an ARN, also in a path; other ids are not changed', () => {
  const profile = 'application-inference-profile/a1b2c3'
  assert.equal(withoutAccount(`${account}:${profile}`), `arn:aws:bedrock:eu-west-1:...:${profile}`)
  assert.equal(
    withoutAccount(`POST ${modelPath(`${account}:${profile}`, 'converse')}`),
    'POST /model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A...%3Aapplication-inference-profile%2Fa1b2c3/converse',
  )
  for (const id of ['us.amazon.nova-2-lite-v1:0', 'gpt-4o-2024-08-06', 'arn:aws:s3:::bucket', 'learn:1:2:3:4:5:6'])
    assert.equal(withoutAccount(id), id)
})
