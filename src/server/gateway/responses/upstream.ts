import type { Deployment } from '../../config/deployments.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import type { Authorize } from '../upstream/authorize.ts'
import { ownHeaders } from '../upstream/headers.ts'
import { basePathOf } from '../upstream/paths.ts'
import { secretsOf } from '../upstream/scrub.ts'

interface ResponseRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly id: string
  /** Path after the id, with the query: `/input_items?limit=5`, or empty. */
  readonly rest: string
}

/** Sends a request about a response to the deployment that stores it. Rejects with the upstream's error as AppError. */
export type RequestTo = (deployment: Deployment, request: ResponseRequest) => Promise<Json>

const maxBytes = 64 * 1024 * 1024
const codes = { 400: 'invalid_request', 404: 'not_found', 409: 'conflict', 429: 'rate_limited' } as const

export function createResponseRequests({
  outbound,
  authorize,
}: {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}): RequestTo {
  return async (deployment, { method, id, rest }) => {
    const target = { deployment, protocol: 'openai-responses' } as const
    const url = `${deployment.apiBase}${basePathOf(target)}/responses/${encodeURIComponent(id)}${rest}`
    const headers = await authorize(target, { url, headers: { ...ownHeaders }, body: Buffer.alloc(0) })
    const { status, text } = await smallRequest(outbound, { method, url, headers, maxBytes }).catch(
      (cause: unknown) => {
        throw new AppError('upstream_unreachable', `deployment ${deployment.id} cannot be reached`, { cause })
      },
    )
    const body = recordOf(jsonOr(text, undefined))
    if (status >= 200 && status < 300) return body
    const message = textIn(recordOf(body['error'])['message']) ?? `the upstream answered with status ${status}`
    const code = codes[status as keyof typeof codes] ?? 'upstream_unreachable'
    throw new AppError(code, withoutEchoes(message, secretsOf(deployment)), {
      fields: code === 'not_found' ? { code: 'response_not_found' } : {},
    })
  }
}
