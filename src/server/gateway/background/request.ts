import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import type { Json } from '../../platform/json.ts'
import type { Call } from '../core/call.ts'
import { repeatedFields } from '../formats/openai-responses/read-request.ts'
import type { ResponseName } from '../responses/store.ts'
import type { Claim, RequestRow } from './rows.ts'

/** Request of a background response, as it runs. */
export type StoredRequest = Pick<Call, 'body' | 'headers'>

/** Headers that have an effect on a call. Credentials are not stored. */
const storedHeaders =
  /^(anthropic-|openai-(?!organization$|project$)|x-claude-code-|x-switchyard-|traceparent$|tracestate$)/

const newline = 0x0a

type Cipher = RowCipher<'background_responses'>

/** Encrypts a request. */
export function encryptRequest(cipher: Cipher, name: ResponseName, { body, headers }: StoredRequest): RequestRow {
  const stored = Object.fromEntries(Object.entries(headers).filter(([header]) => storedHeaders.test(header)))
  const row = { principal: name.principal, id: name.id, version: nextVersion(undefined) }
  const plain = Buffer.concat([Buffer.from(`${JSON.stringify(stored)}\n`), body])
  return { ...row, ...cipher.encrypt(plain, row) }
}

export function decryptRequest(
  cipher: Cipher,
  row: Pick<Claim, 'principal' | 'id' | 'version' | 'sealed'>,
): StoredRequest {
  const plain = cipher.decrypt(row)
  const end = plain.indexOf(newline)
  return { headers: JSON.parse(plain.toString('utf8', 0, end)), body: plain.subarray(end + 1) }
}

interface Facts {
  readonly id: string
  readonly model: string
  readonly previousId: string | undefined
}

/** Returns the response as it is until it runs. `body` is the request. */
export function queuedResponse(body: Buffer, { id, model, previousId }: Facts): Json {
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'queued',
    background: true,
    completed_at: null,
    error: null,
    incomplete_details: null,
    ...repeatedFields(JSON.parse(body.toString()) as Json, { previousId, isStored: true, isRetained: true }),
    model,
    output: [],
    usage: null,
  }
}
