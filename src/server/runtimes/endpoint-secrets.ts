import { isLongEnough, type WholeEchoes, wholeEchoes } from '../platform/echoes.ts'
import { type RuntimeEndpoint, RuntimeFailure } from './runtime.ts'

const secretName = /key|token|secret|pass|auth|cred|cookie|signature/i
/** A word, a path, or a URL without user and query: a setting that texts and errors may name. */
const plainSetting = /^(?:[a-z]+|\/[\w./:-]*|https?:\/\/[^\s@?#]*)$/i

/** Returns the secrets of an endpoint: its key and the environment variables of its program, except plain settings. */
export function echoesOfEndpoint({ apiKey, env = {} }: Pick<RuntimeEndpoint, 'apiKey' | 'env'>): WholeEchoes {
  const values = Object.entries(env).flatMap(([name, value]) =>
    secretName.test(name) || !plainSetting.test(value) ? [value] : [],
  )
  return wholeEchoes([...(apiKey === undefined ? [] : [apiKey]), ...values].filter(isLongEnough))
}

/** Redacts an error text, also where it was truncated in the middle of a secret. */
export const textWithoutSecrets = (echoes: Pick<WholeEchoes, 'without' | 'withoutCutEnd'>, words: string): string =>
  echoes.withoutCutEnd(echoes.without(words))

/** Redacts the message of a `RuntimeFailure`; returns the same object when there is no secret in it. */
export function failureWithoutSecrets(echoes: Pick<WholeEchoes, 'without' | 'withoutCutEnd'>, error: unknown): unknown {
  if (!(error instanceof RuntimeFailure)) return error
  const message = textWithoutSecrets(echoes, error.message)
  if (message === error.message) return error
  const { type, status, code, retryAfterMs, cause } = error
  return new RuntimeFailure(type, message, { status, code, retryAfterMs, cause })
}
