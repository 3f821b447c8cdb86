import { sign } from 'node:crypto'
import type { GoogleServiceAccount } from '../../config/deployments.ts'
import { AppError } from '../../platform/errors.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'

/** Returns the access token of a service account: a valid cached one at once, else a promise of a new one. */
export type GoogleTokens = (account: GoogleServiceAccount) => string | Promise<string>

interface Options {
  readonly outbound: Pick<Outbound, 'connect'>
  /** Returns milliseconds since 1970; the system clock by default. */
  readonly now?: () => number
}

interface Token {
  readonly value: string
  /** Milliseconds since 1970 from which a new token is requested. */
  readonly staleAtMs: number
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const lifetimeSeconds = 3_600
/** A token is not used in its last minute, because a call may wait for its connection. */
const marginMs = 60_000

/**
 * Fetches tokens of service accounts on demand and caches each until a minute before it expires. Concurrent callers
 * share one request. Rejects with AppError `upstream_unreachable`, whose text holds no secret.
 */
export function createGoogleTokens({ outbound, now = Date.now }: Options): GoogleTokens {
  const tokens = new Map<string, Token>()
  const requests = new Map<string, Promise<string>>()

  const fetchToken = async (account: GoogleServiceAccount): Promise<string> => {
    const { value, expiresInSeconds } = await requestToken(account, { outbound, nowMs: now() })
    tokens.set(keyOf(account), { value, staleAtMs: now() + expiresInSeconds * 1_000 - marginMs })
    return value
  }

  return account => {
    const key = keyOf(account)
    const cached = tokens.get(key)
    if (cached && now() < cached.staleAtMs) return cached.value
    const running = requests.get(key)
    if (running) return running
    const request = fetchToken(account).finally(() => requests.delete(key))
    requests.set(key, request)
    return request
  }
}

/** Contains the private key, so that the token of a replaced key is not used again. */
const keyOf = ({ clientEmail, privateKey, tokenUri }: GoogleServiceAccount): string =>
  `${clientEmail} ${tokenUri} ${privateKey}`

async function requestToken(
  account: GoogleServiceAccount,
  { outbound, nowMs }: { readonly outbound: Pick<Outbound, 'connect'>; readonly nowMs: number },
): Promise<{ value: string; expiresInSeconds: number }> {
  try {
    const assertion = signedAssertion(account, Math.floor(nowMs / 1_000))
    const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
    const { status, text } = await smallRequest(outbound, {
      method: 'POST',
      url: account.tokenUri,
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'accept-encoding': 'identity' },
      body: form.toString(),
    })
    return readToken(status, text)
  } catch (cause) {
    const message = 'cannot fetch the access token of the Google service account; see the server log'
    throw new AppError('upstream_unreachable', message, { cause })
  }
}

/**
 * Returns the signed JSON Web Token of a token request. Source: RFC 7523; Google, "Using OAuth 2.0 for server to server
 * applications".
 */
function signedAssertion({ clientEmail, privateKey, tokenUri }: GoogleServiceAccount, nowSeconds: number): string {
  const header = encoded({ alg: 'RS256', typ: 'JWT' })
  const claims = encoded({ iss: clientEmail, scope, aud: tokenUri, iat: nowSeconds, exp: nowSeconds + lifetimeSeconds })
  const signature = sign('RSA-SHA256', Buffer.from(`${header}.${claims}`), privateKey)
  return `${header}.${claims}.${signature.toString('base64url')}`
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A failed token request. `message` holds the status and Google's error code, and no secret. */
export class TokenRequestError extends Error {
  override readonly name = 'TokenRequestError'
}

/** Reads the token. Errors are logged, so they hold the status and Google's error code, never the body. */
function readToken(status: number, text: string): { value: string; expiresInSeconds: number } {
  const { access_token: value, expires_in: expiresInSeconds, error } = recordOf(jsonOr(text, undefined))
  if (status !== 200 || typeof value !== 'string' || typeof expiresInSeconds !== 'number') {
    // An error code such as invalid_grant. A longer text may hold secrets.
    const word = typeof error === 'string' && /^[\w-]{1,60}$/.test(error) ? `: ${error}` : ''
    throw new TokenRequestError(`the token endpoint answered with status ${status}${word}`)
  }
  return { value, expiresInSeconds }
}
