import type { TSchema } from 'typebox'

/**
 * Gives a schema the name under which the OpenAPI document lists it in `components.schemas`: generated clients make a type
 * of that name. Names are unique in the contract.
 */
export function named<S extends TSchema>(title: string, schema: S): S {
  return Object.assign(schema, { title })
}
