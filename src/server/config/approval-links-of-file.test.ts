import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReader } from '../../../test/support/service/config-file.ts'

const { load, problemsOf } = configReader()

test('signed links of approvals are off by default, and sent where the file says', () => {
  assert.deepEqual(load({}).approvalLinks, [])
  const yaml = "general_settings: {public_url: 'https://a.example', approval_links: [replies, webhook_endpoints]}"
  assert.deepEqual(load({ yaml }).approvalLinks, ['webhook_endpoints', 'replies'])
})

test('signed links without a public URL, or for an unknown place, stop the start', () => {
  assert.deepEqual(problemsOf({ yaml: 'general_settings:\n  approval_links: [replies]\n' }), [
    '2: general_settings.approval_links requires general_settings.public_url',
  ])
  const yaml = 'general_settings:\n  public_url: https://a.example\n  approval_links: [mail]\n'
  assert.deepEqual(problemsOf({ yaml }), [
    '3: general_settings.approval_links[0] must be one of webhook_endpoints, replies',
  ])
})
