import { type Json, nonEmptyText } from '../../platform/json.ts'

/** Returns the id of a provider's object. */
export function idIn(object: Json): string {
  const id = nonEmptyText(object['id'])
  if (id === undefined) throw new Error('the provider answered without an id')
  return id
}
