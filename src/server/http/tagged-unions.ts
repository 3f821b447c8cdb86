import type { ErrorObject } from 'ajv'

type Fields = Readonly<Record<string, unknown>>

/**
 * What a check found, without what it says of alternatives that were not meant. A `type` tells the alternatives of a
 * tagged union apart: only the errors of its own alternative count, and for a type that none has there is one error which
 * names those there are. Needs errors with `schema` and `data` (ajv: `verbose`).
 */
export function meantErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  return errors.filter(({ keyword }) => keyword === 'anyOf').reduce(withoutOthers, errors)
}

function withoutOthers(errors: readonly ErrorObject[], union: ErrorObject): readonly ErrorObject[] {
  const { schema, data, schemaPath, instancePath } = union
  const tags = Array.isArray(schema) && isFields(data) ? tagsOf(schema) : undefined
  if (!tags || !isFields(data)) return errors
  const others = errors.filter(error => error !== union && !error.schemaPath.startsWith(`${schemaPath}/`))
  const meant = tags.findIndex(tag => tag !== undefined && tag === data['type'])
  if (meant >= 0) return [...others, ...errors.filter(error => error.schemaPath.startsWith(`${schemaPath}/${meant}/`))]
  const known = tags.filter(tag => tag !== undefined).map(tag => JSON.stringify(tag))
  const message = known.length === 1 ? `must be ${known[0]}` : `must be one of ${known.join(', ')}`
  const params = { allowedValues: known }
  return [...others, { keyword: 'enum', instancePath: `${instancePath}/type`, schemaPath, params, message }]
}

/** The `type` of each alternative that is an object; undefined unless all of those have one. */
function tagsOf(branches: readonly unknown[]): readonly (string | undefined)[] | undefined {
  const objects = branches.map(branch => (isFields(branch) && branch['type'] === 'object' ? branch : undefined))
  const tags = objects.map(branch => branch && constantOf(branch))
  const isTagged =
    tags.some(tag => tag !== undefined) && objects.every((branch, at) => !branch || tags[at] !== undefined)
  return isTagged ? tags : undefined
}

function constantOf({ properties }: Fields): string | undefined {
  const type = isFields(properties) ? properties['type'] : undefined
  const value = isFields(type) ? type['const'] : undefined
  return typeof value === 'string' ? value : undefined
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
