import type { Deployment } from '../../config/deployments.ts'
import { isLongEnough, type WholeEchoes, wholeEchoes, wholeWritings } from '../../platform/echoes.ts'

const mark = Buffer.from('[secret]')

/** Headers whose values are not secret. */
const harmless = /^(anthropic|openai)-|^(accept|content-type|user-agent)$/

/**
 * Returns the credentials of a deployment, from its configuration and its current access tokens. Any header that an
 * operator configures may be a credential.
 */
export function secretsOf(deployment: Deployment): readonly string[] {
  const cached = secretsCache.get(deployment)
  if (cached) return cached
  const secrets = [...configuredSecrets(deployment), ...(tokens.get(deployment) ?? [])]
  secretsCache.set(deployment, secrets)
  return secrets
}

/**
 * Cached because every response is searched for the secrets, and only access tokens change. Keyed by the deployment,
 * which is immutable and which a reload replaces, so an entry lives as long as its deployment.
 */
const secretsCache = new WeakMap<Deployment, readonly string[]>()

/** The newest and the previous token: calls with the previous one may still be in flight. */
const tokens = new WeakMap<Deployment, readonly string[]>()

/** Adds a new access token to the secrets of a deployment. */
export function addToken(deployment: Deployment, token: string): void {
  const previous = tokens.get(deployment) ?? []
  if (previous.includes(token)) return
  tokens.set(deployment, [token, ...previous].slice(0, 2))
  secretsCache.delete(deployment)
}

function configuredSecrets({ apiKey, headers, aws }: Deployment): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    harmless.test(name.toLowerCase()) ? [] : [value, value.replace(/^\w+\s+/, '')],
  )
  return [apiKey, ...values, aws?.secretAccessKey, aws?.sessionToken].filter(value => value !== undefined)
}

/** What is searched for in the responses of a deployment. */
interface Echoes {
  readonly secrets: readonly string[]
  readonly needles: readonly Buffer[]
  readonly whole: WholeEchoes
}

const echoesCache = new WeakMap<Deployment, Echoes>()

function echoesOf(deployment: Deployment): Echoes {
  const secrets = secretsOf(deployment)
  const cached = echoesCache.get(deployment)
  if (cached?.secrets === secrets) return cached
  const long = secrets.filter(isLongEnough)
  const needles = wholeWritings(long).map(text => Buffer.from(text))
  const made = { secrets, needles, whole: wholeEchoes(long) }
  echoesCache.set(deployment, made)
  return made
}

/** Replaces every encoding of the deployment's credentials in `body`; returns the same buffer when there is none. */
export const scrubbed = (body: Buffer, deployment: Deployment): Buffer =>
  echoesOf(deployment).needles.reduce(replaced, body)

/** Replaces every encoding of the deployment's credentials in a text of the upstream. */
export const withoutSecrets = (text: string, deployment: Deployment): string => echoesOf(deployment).whole.without(text)

/** Like `withoutSecrets`, for text that may be truncated; also replaces the host of the deployment. */
export const scrubbedText = (text: string, deployment: Deployment): string =>
  echoesOf(deployment)
    .whole.withoutCutEnd(withoutSecrets(text, deployment))
    .replaceAll(new URL(deployment.apiBase).host, '[host]')

/** Reports whether a header value holds a credential of the deployment, even a short one. */
export const containsSecret = (value: string, deployment: Deployment): boolean =>
  secretsOf(deployment).some(secret => secret !== '' && value.includes(secret)) ||
  (isLongEnough(value) && echoesOf(deployment).whole.isIn(value))

function replaced(body: Buffer, secret: Buffer): Buffer {
  const parts: Buffer[] = []
  let from = 0
  for (let at = body.indexOf(secret); at >= 0; at = body.indexOf(secret, from)) {
    parts.push(body.subarray(from, at), mark)
    from = at + secret.length
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(from)])
}
