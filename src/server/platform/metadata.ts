import { maxMetadataKeys } from '../../contract/metadata.ts'
import { invalid } from './errors.ts'

/** Metadata of clients. */
export type MetadataMap = Readonly<Record<string, string>>

/** Returns metadata after a patch: a value replaces, null removes, absent keys stay. Throws for too many keys. */
export function patched(current: MetadataMap, patch: Readonly<Record<string, string | null>> | null | undefined) {
  const merged = Object.entries({ ...current, ...patch }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  )
  if (merged.length > maxMetadataKeys) throw invalid(`metadata must have at most ${maxMetadataKeys} keys`)
  return Object.fromEntries(merged)
}

/** Returns the string members of an object. */
export function metadataIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
