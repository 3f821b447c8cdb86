import type { Deployment } from '../../config/config.ts'

const mark = Buffer.from('[secret]')
/** Shorter values would hit ordinary words. */
const minSecretLength = 8

/** `body` without the deployment's own credentials, should the upstream echo them; else the very same buffer. */
export function scrubbed(body: Buffer, { apiKey, headers, aws }: Deployment): Buffer {
  const held = [
    apiKey,
    headers['authorization'],
    headers['authorization']?.replace(/^\w+\s+/, ''),
    headers['x-api-key'],
    headers['api-key'],
    headers['x-goog-api-key'],
    aws?.secretAccessKey,
    aws?.sessionToken,
  ]
  const secrets = held.filter(value => value !== undefined && value.length >= minSecretLength)
  return secrets.reduce((rest, secret) => replaced(rest, Buffer.from(secret ?? '')), body)
}

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
