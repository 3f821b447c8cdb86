import type { Deployment } from '../../config/config.ts'
import { type WholeEchoes, wholeEchoes, wholeWritings } from '../../platform/echoes.ts'

const mark = Buffer.from('[secret]')
/** Shorter values would hit ordinary words. */
const minSecretLength = 8

/** Headers whose values upstreams name for good reasons. */
const harmless = /^(anthropic|openai)-|^(accept|content-type|user-agent)$/

/**
 * What a deployment's calls are authorised by, as far as the configuration states it. Any header of an operator may be a
 * credential, whatever its name.
 */
export function secretsOf(deployment: Deployment): readonly string[] {
  const known = found.get(deployment)
  if (known) return known
  const secrets = [...foundIn(deployment), ...(tokens.get(deployment) ?? [])]
  found.set(deployment, secrets)
  return secrets
}

/** Every answer is searched for them, and only the access token of a deployment changes. */
const found = new WeakMap<Deployment, readonly string[]>()

/** Calls that began with the token before may still be running. */
const tokens = new WeakMap<Deployment, readonly string[]>()

/** Adds the access token that a deployment's calls now carry to its secrets. */
export function addToken(deployment: Deployment, token: string): void {
  const known = tokens.get(deployment) ?? []
  if (known.includes(token)) return
  tokens.set(deployment, [token, ...known].slice(0, 2))
  found.delete(deployment)
}

function foundIn({ apiKey, headers, aws }: Deployment): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    harmless.test(name.toLowerCase()) ? [] : [value, value.replace(/^\w+\s+/, '')],
  )
  return [apiKey, ...values, aws?.secretAccessKey, aws?.sessionToken].filter(value => value !== undefined)
}

/** What is searched for in the answers of a deployment. */
interface Echoes {
  readonly secrets: readonly string[]
  readonly needles: readonly Buffer[]
  readonly whole: WholeEchoes
}

const echoesFound = new WeakMap<Deployment, Echoes>()

function echoesOf(deployment: Deployment): Echoes {
  const secrets = secretsOf(deployment)
  const known = echoesFound.get(deployment)
  if (known?.secrets === secrets) return known
  const long = secrets.filter(secret => secret.length >= minSecretLength)
  const needles = wholeWritings(long).map(text => Buffer.from(text))
  const made = { secrets, needles, whole: wholeEchoes(long) }
  echoesFound.set(deployment, made)
  return made
}

/** `body` without any writing of the deployment's own credentials, should the upstream echo them; else the very same buffer. */
export const scrubbed = (body: Buffer, deployment: Deployment): Buffer =>
  echoesOf(deployment).needles.reduce(replaced, body)

/** Words of an upstream without any writing of the deployment's credentials. */
export const withoutSecrets = (text: string, deployment: Deployment): string => echoesOf(deployment).whole.without(text)

/** As `withoutSecrets`, for text that may have been cut short, and without the address that the deployment is at. */
export const scrubbedText = (text: string, deployment: Deployment): string =>
  echoesOf(deployment)
    .whole.withoutCutEnd(withoutSecrets(text, deployment))
    .replaceAll(new URL(deployment.apiBase).host, '[host]')

/** True when a header's value holds a credential of the deployment, a short one too. */
export const holdsSecret = (value: string, deployment: Deployment): boolean =>
  secretsOf(deployment).some(secret => secret !== '' && value.includes(secret)) ||
  (value.length >= minSecretLength && echoesOf(deployment).whole.isIn(value))

function replaced(body: Buffer, secret: Buffer): Buffer {
  const parts: Buffer[] = []
  let from = 0
  for (let at = body.indexOf(secret); at >= 0; at = body.indexOf(secret, from)) {
    parts.push(body.subarray(from, at), mark)
    from = at + secret.length
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(from)])
}
