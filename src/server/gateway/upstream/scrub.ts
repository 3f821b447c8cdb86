import type { Deployment } from '../../config/config.ts'

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
  const secrets = foundIn(deployment)
  found.set(deployment, secrets)
  return secrets
}

/** Every answer is looked at for them, and a deployment does not change. */
const found = new WeakMap<Deployment, readonly string[]>()

function foundIn({ apiKey, headers, aws }: Deployment): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    harmless.test(name.toLowerCase()) ? [] : [value, value.replace(/^\w+\s+/, '')],
  )
  return [apiKey, ...values, aws?.secretAccessKey, aws?.sessionToken].filter(value => value !== undefined)
}

/** `body` without the deployment's own credentials, should the upstream echo them; else the very same buffer. */
export const scrubbed = (body: Buffer, deployment: Deployment): Buffer =>
  secretsOf(deployment)
    .filter(secret => secret.length >= minSecretLength)
    .reduce((rest, secret) => replaced(rest, Buffer.from(secret)), body)

/** Words of an upstream without the deployment's credentials and without the address it is at. */
export const scrubbedText = (text: string, deployment: Deployment): string =>
  scrubbed(Buffer.from(text), deployment).toString().replaceAll(new URL(deployment.apiBase).host, '[host]')

function replaced(body: Buffer, secret: Buffer): Buffer {
  const parts: Buffer[] = []
  let from = 0
  for (let at = body.indexOf(secret); at >= 0; at = body.indexOf(secret, from)) {
    parts.push(body.subarray(from, at), mark)
    from = at + secret.length
  }
  return parts.length === 0 ? body : Buffer.concat([...parts, body.subarray(from)])
}
