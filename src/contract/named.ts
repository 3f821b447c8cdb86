import type { TSchema } from 'typebox'

/**
 * Names a schema in `components.schemas` of the OpenAPI document: generated clients get a type
 * of that name. Names are unique in the contract.
 */
export function named<S extends TSchema>(title: string, schema: S): S {
  return Object.assign(schema, { title })
}
