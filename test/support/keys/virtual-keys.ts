import assert from 'node:assert/strict'
import type { ApiKeyWrite, ShownApiKey } from '../../../src/contract/keys.ts'
import { send, type Target } from '../service/send.ts'

/** Makes a virtual key with the master key, or whatever key `target` has. */
export async function makeKey(target: Target, fields: ApiKeyWrite = {}): Promise<ShownApiKey> {
  const answer = await send(target, 'POST /api/keys', { body: fields })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ShownApiKey>()
}

/** A target for requests under a new virtual key. */
export async function holderOf(target: Target, fields: ApiKeyWrite = {}): Promise<Target & { readonly id: string }> {
  const { id, key } = await makeKey(target, fields)
  return { url: target.url, id, key }
}
