import type { ErrorCode } from '../../../contract/errors.ts'
import type { Deployment } from '../../config/config.ts'
import { withoutEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, jsonOr, nonEmptyText } from '../../platform/json.ts'
import { type Outbound, OutboundRefused } from '../../platform/outbound.ts'
import type { Authorize } from './authorize.ts'
import { TokenRefused } from './google-token.ts'
import { ownHeaders } from './headers.ts'
import { basePathOf } from './paths.ts'
import { callingProbe, type Probe, readingProbe } from './probes.ts'
import { secretsOf } from './scrub.ts'
import { smallRequest } from './small-request.ts'

/** What an upstream made of a credential. */
interface CredentialCheck {
  readonly latencyMs: number
  /** Undefined: it was taken. No part of the credential is in the text. */
  readonly problem: string | undefined
}

interface Options {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}

const maxWords = 300

/** Asks upstreams whether they take the credential of a deployment, with requests that cost next to nothing. */
export function createCredentialCheck({ outbound, authorize }: Options) {
  const ask = async (deployment: Deployment, { method, path, headers, body, alsoGood }: Probe) => {
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
    const told = (problem: string | undefined): CredentialCheck => ({
      latencyMs: Math.round(performance.now() - startedMs),
      problem,
    })
    try {
      const reading = readingProbe(deployment)
      const first = reading && (await ask(deployment, reading))
      // A server without such a route says nothing about the credential.
      const isTold = first && first.status !== 404 && first.status !== 405
      return told((isTold ? first : await ask(deployment, callingProbe(deployment))).problem)
    } catch (error) {
      return told(failureOf(error))
    }
  }
}

function problemOf(status: number, words: string): string {
  if (status >= 300 && status < 400) return `the provider answered with a redirect (status ${status})`
  return `the provider answered with status ${status}${words === '' ? '' : `: ${words.slice(0, maxWords)}`}`
}

/** Why there was no answer. Only texts of ours go on: those of other errors may hold anything. */
function failureOf(error: unknown): string {
  const reason = error instanceof AppError ? error.cause : error
  if (reason instanceof OutboundRefused || reason instanceof TokenRefused) return reason.message
  const code = (reason as NodeJS.ErrnoException | undefined)?.code
  return `the provider cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`
}

/** The upstream's own words in an error body, on one line; a page of HTML has none. */
function wordsIn(text: string): string {
  const body = jsonOr(text, undefined)
  const said = body === undefined ? text : (messageIn(body) ?? '')
  // Control characters would be commands to a terminal.
  const line = said.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
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

/** The credentials among the headers that were sent, without their scheme. */
const credentialsIn = (headers: Readonly<Record<string, string>>): string[] =>
  ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'].flatMap(name => {
    const value = headers[name]
    // A signature holds names and dates besides, and is of no use to others.
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

/** What an upstream's error status, 400 or above, means in our terms when its words say nothing more exact. */
export const codeOfUpstreamStatus = (status: number): ErrorCode =>
  codes[status] ?? (status < 500 ? 'invalid_request' : 'upstream_unreachable')
