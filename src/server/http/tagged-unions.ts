import type { ErrorObject } from 'ajv'

type Fields = Readonly<Record<string, unknown>>

/**
 * Filters the errors of tagged unions: keeps only those of the alternative with the `type` of the value. For an unknown
 * `type` returns one error that lists the known ones. Needs errors with `schema` and `data` (ajv: `verbose`).
 */
export function relevantErrors(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  return errors.filter(({ keyword }) => keyword === 'anyOf').reduce(withoutOthers, errors)
}

function withoutOthers(errors: readonly ErrorObject[], union: ErrorObject): readonly ErrorObject[] {
  const { schema, data, schemaPath, instancePath } = union
  const tags = Array.isArray(schema) && isFields(data) ? tagsOf(schema) : undefined
  if (!tags || !isFields(data)) return errors
  const others = errors.filter(error => error !== union && !error.schemaPath.startsWith(`${schemaPath}/`))
  const match = tags.findIndex(tag => tag !== undefined && tag === data['type'])
  if (match >= 0) return [...others, ...errors.filter(error => error.schemaPath.startsWith(`${schemaPath}/${match}/`))]
  const known = tags.filter(tag => tag !== undefined).map(tag => JSON.stringify(tag))
  const message = known.length === 1 ? `must be ${known[0]}` : `must be one of ${known.join(', ')}`
  const params = { allowedValues: known }
  return [...others, { keyword: 'enum', instancePath: `${instancePath}/type`, schemaPath, params, message }]
}

/** Returns the `type` of each object alternative; undefined unless all object alternatives have one. */
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
