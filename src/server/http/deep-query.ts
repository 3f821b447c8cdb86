import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { Route } from '../../contract/route.ts'

/** The step that makes objects of a query before it is checked; none for a route that has none. */
export function nesting({ query }: Route) {
  const fields = objectFieldsOf(query)
  if (fields.length === 0) return {}
  return {
    preValidation: async (request: FastifyRequest) => {
      request.query = nestedQuery(request.query as Record<string, unknown>, fields)
    },
  }
}

/** Fields of a query that are objects: an address has their entries as `metadata[team]=blue`. */
export function objectFieldsOf(query: TSchema | undefined): string[] {
  const { properties = {} } = (query ?? {}) as { properties?: Readonly<Record<string, TSchema>> }
  return Object.entries(properties)
    .filter(([, schema]) => (schema as { type?: unknown }).type === 'object')
    .map(([name]) => name)
}

/** A query in which the entries of these fields are objects. */
export function nestedQuery(query: Readonly<Record<string, unknown>>, fields: readonly string[]) {
  const nested = new Map<string, unknown>()
  for (const [name, value] of Object.entries(query)) {
    const [, field = '', key = ''] = /^([^[]+)\[(.+)\]$/s.exec(name) ?? []
    if (fields.includes(field)) nested.set(field, { ...entriesOf(nested.get(field)), [key]: value })
    else nested.set(name, value)
  }
  return Object.fromEntries(nested)
}

/** What is there already, unless it is a text that the address gives beside the entries. */
const entriesOf = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})
