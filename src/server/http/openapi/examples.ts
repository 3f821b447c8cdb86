import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from 'typebox'
import { examples } from '../../../contract/examples/all.ts'
import { filled, sampleId } from '../../../contract/examples/example.ts'
import { type Route, successStatus } from '../../../contract/route.ts'

type Shown = { readonly example?: unknown }

let recorded: Readonly<Record<string, unknown>> | undefined

/** Reads the recorded responses once, when the document is built. */
const responseOf = (id: string): unknown => {
  recorded ??= JSON.parse(readFileSync(join(import.meta.dirname, 'recorded-responses.json'), 'utf8')) as Record<
    string,
    unknown
  >
  return recorded[id]
}

const shown = (value: unknown): Shown => (value === undefined ? {} : { example: filled(value, sampleId) })

/** Returns the example of a request body, with sample ids. */
export const requestExample = ({ id }: Route): Shown => shown(examples[id]?.body)

/** Returns the response that `npm run examples` recorded for the operation, for its success status. */
export const responseExample = (route: Route, status: string): Shown =>
  Number(status) === successStatus(route) ? shown(responseOf(route.id)) : {}

interface Parameter {
  readonly name: string
  readonly schema: TSchema
}

/** Returns the example of a path or query parameter. */
export function parameterExample({ id }: Route, place: 'path' | 'query', { name, schema }: Parameter): Shown {
  const example = examples[id]
  if (place === 'query') return shown(example?.query?.[name])
  const value = sampleOf(example?.params?.[name] ?? `{${name}}`)
  return { example: (schema as { readonly type?: unknown }).type === 'integer' ? Number(value) : value }
}

const sampleOf = (value: string): unknown => filled(value, sampleId)
