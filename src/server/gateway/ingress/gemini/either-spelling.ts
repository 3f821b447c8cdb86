import { isRecord, type Json } from '../../../platform/json.ts'

/**
 * A field of Google's format, which has two spellings for each: `inlineData` and `inline_data`. Asked for by the first.
 * Names that callers choose, such as those of arguments, must not be read so.
 */
export const field = (record: Json, name: string): unknown => record[name] ?? record[snakeCase(name)]

/** The object in a field; an empty one in place of anything else. */
export function objectField(record: Json, name: string): Json {
  const value = field(record, name)
  return isRecord(value) ? value : {}
}

/** The first spelling of a name in either one. */
export const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
