import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { Deployment } from '../../config/deployments.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, jsonOr, nonEmptyText } from '../../platform/json.ts'
import { type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import type { Authorize } from './authorize.ts'
import { TokenRequestError } from './google-token.ts'
import { ownHeaders } from './headers.ts'
import { basePathOf } from './paths.ts'
import { callingProbe, type Probe, readingProbe } from './probes.ts'
import { secretsOf } from './scrub.ts'

/** Result of a credential check. */
interface CredentialCheck {
  readonly latencyMs: number
  /** Why the upstream rejected the credential, without any part of it; undefined when it was accepted. */
  readonly problem: string | undefined
}

interface Options {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}

const maxWords = 300

/** Returns a function that checks a deployment's credential at its upstream, with requests that cost almost nothing. */
export function createCredentialCheck({ outbound, authorize }: Options) {
  const run = async (deployment: Deployment, { method, path, headers, body, alsoGood }: Probe) => {
    const target = { deployment, protocol: deployment.protocols[0] }
    const url = `${deployment.apiBase}${basePathOf(target)}${path}`
    const bytes = Buffer.from(body ? JSON.stringify(body) : '')
    const sent = await authorize(target, { url, headers: { ...ownHeaders, ...headers }, body: bytes })
    const { status, text } = await smallRequest(outbound, {
      method,
      url,
      headers: sent,
      ...(method === 'POST' && { body: bytes }),
    })
    const isGood = (status >= 200 && status < 300) || alsoGood.includes(status)
    const secrets = [...secretsOf(deployment), deployment.aws?.accessKeyId ?? '', ...credentialsIn(sent)]
    return { status, problem: isGood ? undefined : problemOf(status, withoutEchoes(wordsIn(text), secrets)) }
  }

  return async (deployment: Deployment): Promise<CredentialCheck> => {
    const startedMs = performance.now()
    const resultOf = (problem: string | undefined): CredentialCheck => ({
      latencyMs: Math.round(performance.now() - startedMs),
      problem,
    })
    try {
      const reading = readingProbe(deployment)
      const first = reading && (await run(deployment, reading))
      // A missing route says nothing about the credential.
      const hasRoute = first && first.status !== 404 && first.status !== 405
      return resultOf((hasRoute ? first : await run(deployment, callingProbe(deployment))).problem)
    } catch (error) {
      return resultOf(failureOf(error))
    }
  }
}

function problemOf(status: number, words: string): string {
  if (status >= 300 && status < 400) return `the provider answered with a redirect (status ${status})`
  return `the provider answered with status ${status}${words === '' ? '' : `: ${words.slice(0, maxWords)}`}`
}

/** Returns why there was no response. Messages of foreign errors are not shown, because they may hold secrets. */
function failureOf(error: unknown): string {
  const reason = error instanceof AppError ? error.cause : error
  if (reason instanceof OutboundBlocked || reason instanceof TokenRequestError) return reason.message
  const code = (reason as NodeJS.ErrnoException | undefined)?.code
  return `the provider cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`
}

/** Returns the message in an upstream's error body on one line; empty for an HTML page. */
function wordsIn(text: string): string {
  const body = jsonOr(text, undefined)
  const message = body === undefined ? text : (messageIn(body) ?? '')
  // A terminal would interpret control characters.
  const line = message.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  return line.startsWith('<') ? '' : line
}

function messageIn(body: unknown): string | undefined {
  if (Array.isArray(body)) return messageIn(body[0])
  if (!isRecord(body)) return undefined
  const { error, message, Message } = body
  return (
    (isRecord(error) ? nonEmptyText(error['message']) : nonEmptyText(error)) ??
    nonEmptyText(message) ??
    nonEmptyText(Message)
  )
}

/** Returns the credentials in the sent headers, without their scheme. */
const credentialsIn = (headers: Readonly<Record<string, string>>): string[] =>
  ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'].flatMap(name => {
    const value = headers[name]
    // An AWS signature holds no reusable secret.
    return value === undefined || value.startsWith('AWS4') ? [] : [value.replace(/^\w+\s+/, '')]
  })

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  402: 'budget_exceeded',
  403: 'forbidden',
  404: 'not_found',
  408: 'upstream_timeout',
  409: 'conflict',
  413: 'payload_too_large',
  429: 'rate_limited',
  500: 'internal',
  503: 'overloaded',
  504: 'upstream_timeout',
  529: 'overloaded',
}

/** Returns the error code for an upstream's status of 400 or above, when its message gives no better one. */
export const codeOfUpstreamStatus = (status: number): ErrorCode =>
  codes[status] ?? (status < 500 ? 'invalid_request' : 'upstream_unreachable')
