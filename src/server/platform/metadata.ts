import { maxMetadataKeys } from '../../contract/metadata.ts'
import { invalid } from './errors.ts'

/** Names and values of a client's own. */
export type MetadataMap = Readonly<Record<string, string>>

/** What is left after a patch: a value replaces, null removes, what is absent stays. Refuses more than there is room for. */
export function patched(current: MetadataMap, patch: Readonly<Record<string, string | null>> | null | undefined) {
  const merged = Object.entries({ ...current, ...patch }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  if (merged.length > maxMetadataKeys) throw invalid(`metadata must have at most ${maxMetadataKeys} keys`)
  return Object.fromEntries(merged)
}

/** The texts of an object; anything that is none is left out. */
export function metadataIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
