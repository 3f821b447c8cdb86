import { type Json, textIn } from '../../platform/json.ts'

/** For an answer that names no life. */
const defaultLifeS = 300

/** Returns the access token of an answer of a token endpoint; undefined for one without a token that a header can carry. */
export function tokenIn(status: number, body: Json): { readonly value: string; readonly lifeS: number } | undefined {
  const value = textIn(body['access_token'])
  if (status !== 200 || value === undefined || value === '' || /[^\x21-\x7e]/.test(value)) return undefined
  return { value, lifeS: typeof body['expires_in'] === 'number' ? body['expires_in'] : defaultLifeS }
}
