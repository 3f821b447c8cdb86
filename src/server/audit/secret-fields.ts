/** Replaces a secret in the audit log. */
export const secretMarker = '[secret]'

/**
 * Last words of field names whose text is a secret. `key_id` and `last4` end in another word, so they are not masked.
 */
const secretWords: ReadonlySet<string> = new Set([
  'apikey',
  'authorization',
  'bearer',
  'cookie',
  'credential',
  'hash',
  'key',
  'passphrase',
  'passwd',
  'password',
  'pepper',
  'pwd',
  'sealed',
  'secret',
  'signature',
  'ticket',
  'token',
  'value',
])

/** Fields whose members may be secrets under any name. */
const secretHolders: ReadonlySet<string> = new Set(['env', 'environment', 'headers'])

/** Texts that are masked under any name: `sk-` keys, header values, private keys. */
const secretText = /\bsk-[\w-]{12,}|\b(?:Bearer|Basic)\s+[\w+/.~=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----/

/**
 * Returns `fields` with the text of every secret member replaced by a marker, at any depth. A second line of defence:
 * callers must pass public fields only. Numbers and booleans stay, because a token limit or a price per token is not a
 * secret.
 */
export function withoutSecrets(fields: object): object {
  return masked(fields, false) as object
}

function masked(value: unknown, isSecret: boolean): unknown {
  if (typeof value === 'string') return (isSecret && value !== '') || secretText.test(value) ? secretMarker : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => masked(item, isSecret))
  // As JSON.stringify does, for dates and similar values.
  if ('toJSON' in value && typeof value.toJSON === 'function') return masked(value.toJSON(), isSecret)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, masked(member, isSecret || isSecretName(name))]),
  )
}

/** True for `api_key`, `clientSecret`, `x-api-key`, `tokens`, `Authorization`, `headers`. */
function isSecretName(name: string): boolean {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(word => word !== '')
  const last = words.at(-1) ?? ''
  return secretHolders.has(last) || secretWords.has(last) || secretWords.has(last.replace(/s$/, ''))
}
