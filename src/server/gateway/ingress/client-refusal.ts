import { codeOfStatus, type ErrorCode } from '../../../contract/errors.ts'
import { jsonOr, recordOf, textIn } from '../../platform/json.ts'
import type { Refusal } from '../call.ts'

/** Says a failure of a model call in a client's own format. */
export type ProblemWriter = (code: ErrorCode, message: string, reason?: Refusal['reason']) => object

/** The same refusal in a client's format. Anthropic's envelope is taken apart, and any other that has a text. */
export function clientRefusal(refusal: Refusal, problem: ProblemWriter): Refusal {
  const { status, headers, body, reason } = refusal
  const told = problem(codeOf(status), messageIn(body) ?? `the upstream answered with status ${status}`, reason)
  return {
    ...refusal,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(told)),
  }
}

function codeOf(status: number): ErrorCode {
  const code = codeOfStatus(status)
  return code === 'internal' && status < 500 ? 'invalid_request' : code
}

function messageIn(body: Buffer): string | undefined {
  const text = body.toString().trim()
  const value = jsonOr(text, undefined)
  if (value === undefined) return text.slice(0, 1_000) || undefined
  const { error, message, detail } = recordOf(value)
  return textIn(recordOf(error)['message']) ?? textIn(error) ?? textIn(message) ?? textIn(detail)
}
