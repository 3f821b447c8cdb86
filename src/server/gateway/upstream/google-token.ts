import { sign } from 'node:crypto'
import type { GoogleServiceAccount } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import type { Outbound } from '../../platform/outbound.ts'
import { smallRequest } from './small-request.ts'

/** Gives the access token of a service account: at once while one is valid, else when it has come. */
export type GoogleTokens = (account: GoogleServiceAccount) => string | Promise<string>

interface Options {
  readonly outbound: Pick<Outbound, 'connect'>
  /** Milliseconds since 1970; the system's clock unless given. */
  readonly now?: () => number
}

interface Token {
  readonly value: string
  /** From here on a new one is asked for. */
  readonly staleAtMs: number
}

const scope = 'https://www.googleapis.com/auth/cloud-platform'
const lifetimeSeconds = 3_600
/** A token is not used in its last minute: a call may wait for its connection. */
const marginMs = 60_000

/**
 * Tokens of service accounts, asked for when needed and kept until a minute before they expire; callers that come
 * meanwhile wait for the same answer. Rejects with AppError `upstream_unreachable`, whose text holds no secret.
 */
export function createGoogleTokens({ outbound, now = Date.now }: Options): GoogleTokens {
  const tokens = new Map<string, Token>()
  const asking = new Map<string, Promise<string>>()

  const ask = async (account: GoogleServiceAccount): Promise<string> => {
    const { value, expiresInSeconds } = await requestToken(account, { outbound, nowMs: now() })
    tokens.set(keyOf(account), { value, staleAtMs: now() + expiresInSeconds * 1_000 - marginMs })
    return value
  }

  return account => {
    const key = keyOf(account)
    const known = tokens.get(key)
    if (known && now() < known.staleAtMs) return known.value
    const running = asking.get(key)
    if (running) return running
    const asked = ask(account).finally(() => asking.delete(key))
    asking.set(key, asked)
    return asked
  }
}

/** A key that was replaced must not live on in the token of the old one. */
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
    const message = 'the access token of the Google service account could not be fetched; see the log'
    throw new AppError('upstream_unreachable', message, { cause })
  }
}

/** A JSON Web Token that says who asks. Source: RFC 7523; Google, "Using OAuth 2.0 for server to server applications". */
function signedAssertion({ clientEmail, privateKey, tokenUri }: GoogleServiceAccount, nowSeconds: number): string {
  const header = encoded({ alg: 'RS256', typ: 'JWT' })
  const claims = encoded({ iss: clientEmail, scope, aud: tokenUri, iat: nowSeconds, exp: nowSeconds + lifetimeSeconds })
  const signature = sign('RSA-SHA256', Buffer.from(`${header}.${claims}`), privateKey)
  return `${header}.${claims}.${signature.toString('base64url')}`
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** No token came: `message` says so in Google's own word, and holds no secret. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
}

/** What goes wrong here ends up in the log: the status and Google's own word, never the body. */
function readToken(status: number, text: string): { value: string; expiresInSeconds: number } {
  const { access_token: value, expires_in: expiresInSeconds, error } = recordOf(jsonOr(text, undefined))
  if (status !== 200 || typeof value !== 'string' || typeof expiresInSeconds !== 'number') {
    // A word such as invalid_grant; a longer text may hold anything.
    const word = typeof error === 'string' && /^[\w-]{1,60}$/.test(error) ? `: ${error}` : ''
    throw new TokenRefused(`the token endpoint answered with status ${status}${word}`)
  }
  return { value, expiresInSeconds }
}
