import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Route } from '../../contract/route.ts'

/** Returns the Fastify hook that converts object fields of a query before validation; none for routes without them. */
export function nesting({ query }: Route) {
  const fields = objectFieldsOf(query)
  if (fields.length === 0) return {}
  return {
    preValidation: async (request: FastifyRequest) => {
      request.query = nestedQuery(request.query as Record<string, unknown>, fields)
    },
  }
}

/** Returns the object fields of a query, which URLs encode as `metadata[team]=blue`. */
export function objectFieldsOf(query: TSchema | undefined): string[] {
  const { properties = {} } = (query ?? {}) as { properties?: Readonly<Record<string, TSchema>> }
  return Object.entries(properties)
    .filter(([, schema]) => (schema as { type?: unknown }).type === 'object')
    .map(([name]) => name)
}

/** Returns the query with these fields converted to objects. */
export function nestedQuery(query: Readonly<Record<string, unknown>>, fields: readonly string[]) {
  const nested = new Map<string, unknown>()
  for (const [name, value] of Object.entries(query)) {
    const [, field = '', key = ''] = /^([^[]+)\[(.+)\]$/s.exec(name) ?? []
    if (fields.includes(field)) nested.set(field, { ...entriesOf(nested.get(field)), [key]: value })
    else nested.set(name, value)
  }
  return Object.fromEntries(nested)
}

/** Returns the existing entries; none if the value is text, which a URL may contain besides entries. */
const entriesOf = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})
