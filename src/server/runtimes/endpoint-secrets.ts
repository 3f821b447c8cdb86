import { type WholeEchoes, wholeEchoes } from '../platform/echoes.ts'
import { type RuntimeEndpoint, RuntimeFailure } from './runtime.ts'

/** A shorter one is a word that any text may hold, and leaving it out would tell it. Our choice. */
const shortestSecret = 8

const secretName = /key|token|secret|pass|auth|cred|cookie|signature/i
/** A word, a path, or an address without a user and a query: settings, which texts and errors name for good reasons. */
const plainSetting = /^(?:[a-z]+|\/[\w./:-]*|https?:\/\/[^\s@?#]*)$/i

/** The key of a runtime, and the values of its program's variables but for plain settings. */
export function echoesOfEndpoint({ apiKey, env = {} }: Pick<RuntimeEndpoint, 'apiKey' | 'env'>): WholeEchoes {
  const values = Object.entries(env).flatMap(([name, value]) =>
    secretName.test(name) || !plainSetting.test(value) ? [value] : [],
  )
  return wholeEchoes([...(apiKey === undefined ? [] : [apiKey]), ...values].filter(isLongEnough))
}

const isLongEnough = (secret: string): boolean => secret.length >= shortestSecret

/** Words about a failure, which may have been cut in the middle of a secret. */
export const wordsWithout = (echoes: Pick<WholeEchoes, 'without' | 'withoutCutEnd'>, words: string): string =>
  echoes.withoutCutEnd(echoes.without(words))

/** The very same error where it holds no secret. */
export function failureWithout(echoes: Pick<WholeEchoes, 'without' | 'withoutCutEnd'>, error: unknown): unknown {
  if (!(error instanceof RuntimeFailure)) return error
  const message = wordsWithout(echoes, error.message)
  if (message === error.message) return error
  const { type, status, code, retryAfterMs, cause } = error
  return new RuntimeFailure(type, message, { status, code, retryAfterMs, cause })
}
